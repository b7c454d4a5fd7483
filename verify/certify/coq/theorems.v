(* Headline statements from the definition of the mechanism to the claim, proved by hand. *)
From Coq Require Import Reals Lra Lia Psatz List Permutation Arith.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum (l : list R) : R := match l with [] => 0 | x :: t => x + sum t end.

Lemma sum_app a b : sum (a ++ b) = sum a + sum b.
Proof. induction a as [| x a IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma sum_permutation a b : Permutation a b -> sum a = sum b.
Proof. induction 1; simpl; lra. Qed.

Lemma sum_nonneg l : (forall x, In x l -> 0 <= x) -> 0 <= sum l.
Proof.
  induction l as [| x l IH]; simpl; intros H; [lra |].
  assert (0 <= x) by (apply H; now left).
  assert (0 <= sum l) by (apply IH; intros y Hy; apply H; now right). lra.
Qed.

(* --- Top-K (sparsifiers.topk.contraction) ---
   The squares are sorted, the first k are kept. *)

Fixpoint insert (x : R) (l : list R) : list R :=
  match l with [] => [x] | y :: t => if Rle_dec y x then x :: l else y :: insert x t end.

Definition sorted_down (l : list R) : list R := fold_right insert [] l.

Definition kept (k : nat) (squares : list R) : list R := firstn k (sorted_down squares).
Definition lost (k : nat) (squares : list R) : list R := skipn k (sorted_down squares).

Inductive descending : list R -> Prop :=
  | descending_nil : descending []
  | descending_cons x l : (forall y, In y l -> y <= x) -> descending l -> descending (x :: l).

Lemma insert_permutation x l : Permutation (x :: l) (insert x l).
Proof.
  induction l as [| y l IH]; simpl; [apply Permutation_refl |].
  destruct (Rle_dec y x); [apply Permutation_refl |].
  apply perm_trans with (y :: x :: l); [apply perm_swap | apply perm_skip, IH].
Qed.

Lemma sorted_permutation l : Permutation l (sorted_down l).
Proof.
  induction l as [| x l IH]; simpl; [apply perm_nil |].
  apply perm_trans with (x :: sorted_down l); [apply perm_skip, IH | apply insert_permutation].
Qed.

Lemma insert_descending x l : descending l -> descending (insert x l).
Proof.
  induction 1 as [| y l Hy Hl IH]; simpl.
  - constructor; [intros z [] | constructor].
  - destruct (Rle_dec y x) as [Hle | Hlt].
    + constructor; [| constructor; assumption].
      intros z [<- | Hz]; [exact Hle |]. specialize (Hy z Hz). lra.
    + constructor; [| exact IH]. intros z Hz.
      apply (Permutation_in z (Permutation_sym (insert_permutation x l))) in Hz.
      destruct Hz as [<- | Hz]; [lra | apply Hy, Hz].
Qed.

Lemma sorted_is_descending l : descending (sorted_down l).
Proof. induction l as [| x l IH]; simpl; [constructor | apply insert_descending, IH]. Qed.

Lemma split_at l k : descending l ->
  exists t, (forall x, In x (firstn k l) -> t <= x) /\ (forall x, In x (skipn k l) -> x <= t).
Proof.
  revert k. induction l as [| x l IH]; intros k Hd.
  - exists 0. rewrite firstn_nil, skipn_nil. split; intros ? [].
  - inversion Hd as [| ? ? Hx Hl]; subst. destruct k as [| k]; simpl.
    + exists x. split; [intros ? [] |]. intros y [<- | Hy]; [lra | apply Hx, Hy].
    + destruct (IH k Hl) as [t [Hlow Hhigh]]. exists (Rmin t x). split.
      * intros y [<- | Hy]; [apply Rmin_r |]. apply Rle_trans with t; [apply Rmin_l | apply Hlow, Hy].
      * intros y Hy. apply Rmin_glb; [apply Hhigh, Hy |].
        apply Hx. rewrite <- (firstn_skipn k l). apply in_or_app. now right.
Qed.

Lemma sum_at_most l t : (forall x, In x l -> x <= t) -> sum l <= INR (length l) * t.
Proof.
  induction l as [| x l IH]; intros H; [simpl; lra |].
  change (sum (x :: l)) with (x + sum l). cbn [length]. rewrite S_INR.
  assert (x <= t) by (apply H; now left).
  assert (sum l <= INR (length l) * t) by (apply IH; intros y Hy; apply H; now right). lra.
Qed.

Lemma sum_at_least l t : (forall x, In x l -> t <= x) -> INR (length l) * t <= sum l.
Proof.
  induction l as [| x l IH]; intros H; [simpl; lra |].
  change (sum (x :: l)) with (x + sum l). cbn [length]. rewrite S_INR.
  assert (t <= x) by (apply H; now left).
  assert (INR (length l) * t <= sum l) by (apply IH; intros y Hy; apply H; now right). lra.
Qed.

Theorem topk_contracts (squares : list R) (k : nat) :
  (k <= length squares)%nat ->
  INR (length squares) * sum (lost k squares) <= (INR (length squares) - INR k) * sum squares.
Proof.
  intros Hk.
  pose proof (sorted_permutation squares) as Hp.
  pose proof (Permutation_length Hp) as Hlen.
  destruct (split_at (sorted_down squares) k (sorted_is_descending squares)) as [t [Hlow Hhigh]].
  pose proof (sum_at_least (kept k squares) t Hlow) as Hkept.
  pose proof (sum_at_most (lost k squares) t Hhigh) as Hlost.
  unfold kept in Hkept. rewrite firstn_length_le in Hkept by lia.
  unfold lost in *. rewrite skipn_length, <- Hlen, minus_INR in Hlost by exact Hk.
  rewrite (sum_permutation _ _ Hp).
  rewrite <- (firstn_skipn k (sorted_down squares)) at 2. rewrite sum_app.
  pose proof (pos_INR k). pose proof (le_INR _ _ Hk).
  set (n := INR (length squares)) in *. set (K := INR k) in *.
  set (A := sum (firstn k (sorted_down squares))) in *. set (B := sum (skipn k (sorted_down squares))) in *.
  assert (K * B <= K * ((n - K) * t)) by (apply Rmult_le_compat_l; lra).
  assert ((n - K) * (K * t) <= (n - K) * A) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* --- the sign, scaled by the mean magnitude (quantizers.scaledsign.contraction) ---
   Of magnitudes of sum S and squares Q the error is Q - S^2/n. *)

Definition errors (m : R) (l : list R) : list R := map (fun x => (x - m) ^ 2) l.
Definition squares_of (l : list R) : list R := map (fun x => x ^ 2) l.

Lemma sum_errors m l : sum (errors m l) = sum (squares_of l) - 2 * m * sum l + INR (length l) * m ^ 2.
Proof.
  induction l as [| x l IH]; [simpl; lra |].
  unfold errors, squares_of in *. cbn [map sum length]. rewrite S_INR, IH. lra.
Qed.

Lemma square_of_sum l : (forall x, In x l -> 0 <= x) -> sum (squares_of l) <= sum l ^ 2.
Proof.
  induction l as [| x l IH]; intros H; [simpl; lra |].
  unfold squares_of in *. cbn [map sum].
  assert (0 <= x) by (apply H; now left).
  assert (0 <= sum l) by (apply sum_nonneg; intros y Hy; apply H; now right).
  assert (sum (map (fun x => x ^ 2) l) <= sum l ^ 2) by (apply IH; intros y Hy; apply H; now right).
  assert (0 <= x * sum l) by (apply Rmult_le_pos; assumption). nra.
Qed.

Theorem scaled_sign_contracts (magnitudes : list R) :
  magnitudes <> [] -> (forall x, In x magnitudes -> 0 <= x) ->
  let n := INR (length magnitudes) in
  sum (errors (sum magnitudes / n) magnitudes) <= (1 - 1 / n) * sum (squares_of magnitudes).
Proof.
  intros Hne H n. assert (0 < n) by (unfold n; apply lt_0_INR; destruct magnitudes; [contradiction | simpl; lia]).
  rewrite sum_errors. fold n. pose proof (square_of_sum magnitudes H) as Hs.
  set (S := sum magnitudes) in *. set (Q := sum (squares_of magnitudes)) in *.
  replace (Q - 2 * (S / n) * S + n * (S / n) ^ 2) with (Q - S ^ 2 / n) by (field; lra).
  assert (Q / n <= S ^ 2 / n) by (apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption | exact Hs]).
  unfold Rdiv in *. lra.
Qed.

(* --- QSGD and every dithering between two neighbouring levels (quantizers.qsgd.unbiased) ---
   A level a in [l, l + 1] goes to l + 1 with probability a - l, to l otherwise. *)

Definition mean2 (p x y : R) : R := (1 - p) * x + p * y.

Theorem qsgd_unbiased (norm s l a : R) :
  0 < s -> mean2 (a - l) (norm / s * l) (norm / s * (l + 1)) = norm / s * a.
Proof. intros Hs. unfold mean2. field. lra. Qed.

Theorem qsgd_entry_variance (norm s l a : R) :
  0 < s -> l <= a <= l + 1 ->
  mean2 (a - l) ((norm / s * l - norm / s * a) ^ 2) ((norm / s * (l + 1) - norm / s * a) ^ 2)
    <= (norm / s) ^ 2 / 4.
Proof.
  intros Hs Ha. unfold mean2. set (w := norm / s).
  replace ((1 - (a - l)) * (w * l - w * a) ^ 2 + (a - l) * (w * (l + 1) - w * a) ^ 2)
    with (w ^ 2 * ((a - l) * (1 - (a - l)))) by ring.
  replace (w ^ 2 / 4) with (w ^ 2 * (1 / 4)) by field.
  apply Rmult_le_compat_l; [apply pow2_ge_0 |]. pose proof (pow2_ge_0 (a - l - 1 / 2)). lra.
Qed.

(* --- natural compression (quantizers.naturalcompression.unbiased, .variance) ---
   t in [1, 2] goes to 2 with probability t - 1, to 1 otherwise; any binade is this one times a power of two. *)

Theorem natural_unbiased t : mean2 (t - 1) 1 2 = t.
Proof. unfold mean2. ring. Qed.

Theorem natural_variance t : 1 <= t <= 2 -> mean2 (t - 1) ((1 - t) ^ 2) ((2 - t) ^ 2) <= t ^ 2 / 8.
Proof. intros H. unfold mean2. pose proof (pow2_ge_0 (3 * t - 4)). nra. Qed.

(* --- error feedback (feedback.ef14.telescoping, feedback.ef14.residual) ---
   What is sent is any function of the step; the rest is kept. *)

Section ErrorFeedback.
  Variables step sent : nat -> R.
  Fixpoint residual (t : nat) : R := match t with O => 0 | S t => residual t + step t - sent t end.
  Fixpoint weights (x0 : R) (t : nat) : R := match t with O => x0 | S t => weights x0 t - sent t end.
  Fixpoint uncompressed (x0 : R) (t : nat) : R := match t with O => x0 | S t => uncompressed x0 t - step t end.

  Theorem ef14_telescopes x0 t : weights x0 t - residual t = uncompressed x0 t.
  Proof. induction t as [| t IH]; simpl; lra. Qed.
End ErrorFeedback.

Theorem ef14_residual_bounded (error : nat -> R) (q M : R) :
  0 <= q < 1 -> 0 <= M -> error 0%nat = 0 -> (forall t, error (S t) <= q * (error t + M)) ->
  forall t, error t <= q / (1 - q) * M.
Proof.
  intros Hq HM H0 Hstep t. assert (0 <= q / (1 - q)) by (apply Rmult_le_pos; [lra | apply Rlt_le, Rinv_0_lt_compat; lra]).
  induction t as [| t IH].
  - rewrite H0. apply Rmult_le_pos; assumption.
  - apply Rle_trans with (1 := Hstep t). replace (q / (1 - q) * M) with (q * (q / (1 - q) * M + M)) by (field; lra).
    apply Rmult_le_compat_l; lra.
Qed.

(* --- averaging in groups (moshpit.mean.preserved) ---
   Every group's vectors are replaced by their mean; who is in no group keeps its own, a group of one. *)

Definition mean (l : list R) : R := sum l / INR (length l).
Definition averaged (group : list R) : list R := repeat (mean group) (length group).

Lemma sum_repeat x n : sum (repeat x n) = INR n * x.
Proof. induction n as [| n IH]; [simpl; lra |]. cbn [repeat sum]. rewrite S_INR, IH. lra. Qed.

Theorem group_averages_keep_the_sum (groups : list (list R)) :
  (forall g, In g groups -> g <> []) -> sum (concat (map averaged groups)) = sum (concat groups).
Proof.
  induction groups as [| g groups IH]; intros H; [reflexivity |].
  cbn [map concat]. rewrite !sum_app, IH by (intros g' Hg; apply H; now right). f_equal.
  unfold averaged. rewrite sum_repeat. unfold mean. field. apply not_0_INR.
  destruct g; [exfalso; apply (H []); [now left | reflexivity] | discriminate].
Qed.

(* --- a receiver's staleness under independent losses (packetloss.staleness.law) ---
   It is l after l losses that follow an arrival; after t steps all of the law is there, but for p^t. *)

Fixpoint share_of_first (p : R) (t : nat) : R := match t with O => 0 | S t => share_of_first p t + (1 - p) * p ^ t end.

Theorem staleness_adds_up p t : share_of_first p t = 1 - p ^ t.
Proof. induction t as [| t IH]; simpl; [lra | rewrite IH; ring]. Qed.

(* --- ring all-reduce (dense.ring.sent) ---
   In step t of the reduce-scatter rank r sends block (r - t) mod P, in step t of the all-gather block (r + 1 - t) mod P. *)

Section Ring.
  Variable P : nat.
  Hypothesis ranks : (0 < P)%nat.
  Variable size : nat -> R.

  Definition block (start t : nat) : nat := ((start + (P - t)) mod P)%nat.
  Definition sent_in (steps start : nat) : R := sum (map (fun t => size (block start t)) (seq 0 steps)).
  Definition total : R := sum (map size (seq 0 P)).

  Lemma different_images (f : nat -> nat) l :
    (forall s t, In s l -> In t l -> f s = f t -> s = t) -> NoDup l -> NoDup (map f l).
  Proof.
    intros Hf Hl. induction Hl as [| s l Hs Hl IH]; [constructor |]. cbn [map]. constructor.
    - intros H. apply in_map_iff in H. destruct H as [t [Et Ht]]. apply Hs.
      rewrite (Hf s t); [exact Ht | now left | now right | now symmetry].
    - apply IH. intros x y Hx Hy. apply Hf; now right.
  Qed.

  Lemma blocks_all_different start : NoDup (map (block start) (seq 0 P)).
  Proof.
    apply different_images; [| apply seq_NoDup]. intros s t Hs Ht H.
    apply in_seq in Hs. apply in_seq in Ht. unfold block in H.
    pose proof (Nat.div_mod (start + (P - s)) P ltac:(lia)) as Es.
    pose proof (Nat.div_mod (start + (P - t)) P ltac:(lia)) as Et. rewrite H in Es.
    set (u := ((start + (P - s)) / P)%nat) in *. set (v := ((start + (P - t)) / P)%nat) in *.
    assert (u = v \/ u < v \/ v < u)%nat as [E | [E | E]] by lia; nia.
  Qed.

  Lemma whole_turn start : sent_in P start = total.
  Proof.
    unfold sent_in, total. rewrite <- (map_map (block start) size). apply sum_permutation, Permutation_map.
    apply NoDup_Permutation_bis; [apply blocks_all_different | rewrite map_length, !seq_length; lia |].
    intros b Hb. apply in_map_iff in Hb. destruct Hb as [t [<- _]]. apply in_seq.
    pose proof (Nat.mod_upper_bound (start + (P - t)) P ltac:(lia)). unfold block. lia.
  Qed.

  Theorem ring_sends_all_but_two_blocks r :
    sent_in (P - 1) r + sent_in (P - 1) (r + 1) = 2 * total - size ((r + 1) mod P) - size ((r + 2) mod P).
  Proof.
    assert (forall start, sent_in (P - 1) start = total - size ((start + 1) mod P)%nat) as one.
    { intros start. rewrite <- (whole_turn start). unfold sent_in. replace P with (P - 1 + 1)%nat at 2 by lia.
      rewrite seq_app, map_app, sum_app. cbn [seq map sum]. unfold block at 3.
      replace (start + (P - (0 + (P - 1))))%nat with (start + 1)%nat by lia. lra. }
    rewrite !one. replace (r + 1 + 1)%nat with (r + 2)%nat by lia. lra.
  Qed.
End Ring.

(* --- DropCompute (dropcompute.step.monotone) ---
   Micro-batches take times one after another; those that end by the threshold count. *)

Fixpoint completed (elapsed tau : R) (times : list R) : nat :=
  match times with [] => O | x :: t => if Rle_dec (elapsed + x) tau then S (completed (elapsed + x) tau t) else O end.

Theorem a_larger_threshold_completes_no_less elapsed tau tau' times :
  tau <= tau' -> (completed elapsed tau times <= completed elapsed tau' times)%nat.
Proof.
  intros H. revert elapsed. induction times as [| x times IH]; intros elapsed; simpl; [lia |].
  destruct (Rle_dec (elapsed + x) tau), (Rle_dec (elapsed + x) tau'); try lia; [apply le_n_S, IH | lra].
Qed.

(* --- Rand-K (sparsifiers.randk.contraction) ---
   The sums over all subsets of k entries: those with the first entry, and those without it. *)

Fixpoint kept_sums (k : nat) (l : list R) : list R :=
  match k, l with
  | O, _ => [0]
  | S k, [] => []
  | S k, x :: t => map (fun s => x + s) (kept_sums k t) ++ kept_sums (S k) t
  end.

Definition how_many (k : nat) (l : list R) : R := INR (length (kept_sums k l)).

Lemma sum_shifted x l : sum (map (fun s => x + s) l) = INR (length l) * x + sum l.
Proof. induction l as [| y l IH]; [simpl; lra |]. cbn [map sum length]. rewrite S_INR, IH. lra. Qed.

Lemma how_many_next k x t : how_many (S k) (x :: t) = how_many k t + how_many (S k) t.
Proof. unfold how_many. cbn [kept_sums]. rewrite app_length, map_length, plus_INR. reflexivity. Qed.

Lemma how_many_none l : how_many 0 l = 1.
Proof. unfold how_many. destruct l; reflexivity. Qed.

Lemma next_size l : forall k, (INR k + 1) * how_many (S k) l = (INR (length l) - INR k) * how_many k l.
Proof.
  induction l as [| x t IH]; intros k.
  - destruct k as [| k]; unfold how_many; simpl; lra.
  - cbn [length]. rewrite how_many_next, S_INR. destruct k as [| k].
    + pose proof (IH 0%nat) as H. rewrite how_many_none in *. rewrite how_many_none. simpl INR in *. lra.
    + pose proof (IH k) as H0. pose proof (IH (S k)) as H1. rewrite how_many_next, S_INR in *.
      set (n := INR (length t)) in *. set (j := INR k) in *.
      set (a := how_many k t) in *. set (b := how_many (S k) t) in *. set (c := how_many (S (S k)) t) in *.
      replace ((j + 1 + 1) * (b + c)) with ((j + 1 + 1) * b + (j + 1 + 1) * c) by ring. rewrite H1.
      replace ((n + 1 - (j + 1)) * (a + b)) with ((n - j) * a + (n - j) * b) by ring. rewrite <- H0. ring.
Qed.

Lemma kept_share l : forall k, INR (length l) * sum (kept_sums k l) = INR k * how_many k l * sum l.
Proof.
  induction l as [| x t IH]; intros k; [destruct k; simpl; lra |].
  destruct k as [| k]; [simpl; lra |].
  cbn [length kept_sums]. rewrite how_many_next, sum_app, sum_shifted, !S_INR.
  change (INR (length (kept_sums k t))) with (how_many k t). change (sum (x :: t)) with (x + sum t).
  pose proof (IH k) as H0. pose proof (IH (S k)) as H1. pose proof (next_size t k) as H. rewrite S_INR in H1.
  destruct t as [| y t].
  - destruct k as [| k]; unfold how_many; simpl; lra.
  - assert (0 < INR (length (y :: t))) as Hn by (apply lt_0_INR; simpl; lia).
    set (n := INR (length (y :: t))) in *. set (j := INR k) in *. set (s := sum (y :: t)) in *.
    set (a := how_many k (y :: t)) in *. set (b := how_many (S k) (y :: t)) in *.
    set (F := sum (kept_sums k (y :: t))) in *. set (G := sum (kept_sums (S k) (y :: t))) in *.
    apply (Rmult_eq_reg_l n); [| lra].
    replace (n * ((n + 1) * (a * x + F + G))) with ((n + 1) * (n * a * x + n * F + n * G)) by ring.
    rewrite H0, H1.
    replace ((j + 1) * b * s) with ((n - j) * a * s) by (rewrite <- H; ring).
    replace (n * ((j + 1) * (a + b) * (x + s))) with (n * (((j + 1) * a + (j + 1) * b) * (x + s))) by ring.
    rewrite H. ring.
Qed.

Theorem randk_contracts (squares : list R) (k : nat) :
  squares <> [] ->
  let n := INR (length squares) in
  sum (map (fun kept => sum squares - kept) (kept_sums k squares))
    = (1 - INR k / n) * (how_many k squares * sum squares).
Proof.
  intros Hne n. assert (0 < n) as Hn by (apply lt_0_INR; destruct squares; [contradiction | simpl; lia]).
  assert (forall l s, sum (map (fun kept => s - kept) l) = INR (length l) * s - sum l) as off.
  { intros l s. induction l as [| y l IH]; [simpl; lra |]. cbn [map sum length]. rewrite S_INR, IH. lra. }
  rewrite off. fold (how_many k squares). pose proof (kept_share squares k) as H. fold n in H.
  apply (Rmult_eq_reg_l n); [| lra]. rewrite Rmult_minus_distr_l, H. field. lra.
Qed.

(* --- Chebyshev's sum inequality, with weights (arctopk.allreduce.contraction_orthogonal, and one step of Harris') ---
   Outcomes have a weight and two values; of any two outcomes the one with the larger first value has the larger second. *)

Definition weight (o : R * R * R) : R := fst (fst o).
Definition first (o : R * R * R) : R := snd (fst o).
Definition second (o : R * R * R) : R := snd o.
Definition mean_of (f : R * R * R -> R) (l : list (R * R * R)) : R := sum (map (fun o => weight o * f o) l).

Lemma against_one l f g :
  (forall o, In o l -> 0 <= weight o) -> (forall o, In o l -> 0 <= (f - first o) * (g - second o)) ->
  0 <= mean_of (fun o => first o * second o) l + mean_of (fun _ => 1) l * f * g
       - mean_of first l * g - mean_of second l * f.
Proof.
  unfold mean_of. induction l as [| o l IH]; intros Hw H; [simpl; lra |]. cbn [map sum].
  assert (0 <= weight o * ((f - first o) * (g - second o))) by (apply Rmult_le_pos; [apply Hw | apply H]; now left).
  assert (IH' := IH (fun p Hp => Hw p (or_intror Hp)) (fun p Hp => H p (or_intror Hp))). lra.
Qed.

Theorem chebyshev_sum l :
  (forall o, In o l -> 0 <= weight o) ->
  (forall o p, In o l -> In p l -> 0 <= (first o - first p) * (second o - second p)) ->
  mean_of first l * mean_of second l <= mean_of (fun _ => 1) l * mean_of (fun o => first o * second o) l.
Proof.
  induction l as [| o l IH]; intros Hw H; [unfold mean_of; simpl; lra |].
  assert (IH' := IH (fun p Hp => Hw p (or_intror Hp)) (fun p q Hp Hq => H p q (or_intror Hp) (or_intror Hq))).
  assert (B := against_one l (first o) (second o) (fun p Hp => Hw p (or_intror Hp))
                (fun p Hp => H o p (or_introl eq_refl) (or_intror Hp))).
  assert (W := Hw o (or_introl eq_refl)). pose proof (Rmult_le_pos _ _ W B) as WB.
  unfold mean_of in *. cbn [map sum]. lra.
Qed.

(* --- smooth and convex functions: the parabolas of `theory/smooth_functions.py`, along a segment of unit length ---
   phi t = f (x + t h), whose slope is <grad f (x + t h), h>; c is L ||h||^2. *)

Theorem descent (phi slope : R -> R) (c : R) :
  (forall t, 0 <= t <= 1 -> derivable_pt_lim phi t (slope t)) ->
  (forall t, 0 <= t <= 1 -> Rabs (slope t - slope 0) <= c * t) ->
  Rabs (phi 1 - phi 0 - slope 0) <= c / 2.
Proof.
  intros D H.
  assert (forall s, Rabs s = 1 -> s * (phi 1 - phi 0 - slope 0) <= c / 2) as one_side.
  { intros s Hs.
    destruct (MVT_cor2 (fun t => s * (phi t - slope 0 * t) - c / 2 * (t * t))
                       (fun t => s * (slope t - slope 0 * 1) - c / 2 * (1 * t + t * 1)) 0 1) as [m [E B]]; [lra | |].
    - intros t B. apply derivable_pt_lim_minus.
      + apply (derivable_pt_lim_scal (fun t => phi t - slope 0 * t)), derivable_pt_lim_minus; [now apply D |].
        apply (derivable_pt_lim_scal (fun t => t)), derivable_pt_lim_id.
      + apply (derivable_pt_lim_scal (fun t => t * t)), (derivable_pt_lim_mult (fun t => t) (fun t => t));
          apply derivable_pt_lim_id.
    - assert (B' : 0 <= m <= 1) by lra. assert (K := H m B'). rewrite <- (Rmult_1_l (Rabs _)), <- Hs, <- Rabs_mult in K.
      assert (A := Rle_abs (s * (slope m - slope 0))). lra. }
  assert (P := one_side 1 Rabs_R1).
  assert (N := one_side (-1) (eq_trans (Rabs_Ropp 1) Rabs_R1)).
  apply Rabs_le. lra.
Qed.

Theorem tangent_below (phi : R -> R) (slope : R) :
  (forall t, 0 <= t <= 1 -> phi t <= (1 - t) * phi 0 + t * phi 1) -> derivable_pt_lim phi 0 slope ->
  phi 0 + slope <= phi 1.
Proof.
  intros C D. destruct (Rle_lt_dec (phi 0 + slope) (phi 1)) as [|L]; [assumption | exfalso].
  assert (0 < phi 0 + slope - phi 1) as P by lra. destruct (D _ P) as [delta H].
  set (h := Rmin (delta / 2) 1). assert (Hd := cond_pos delta).
  assert (0 < h <= 1) as B by (split; [apply Rmin_glb_lt; lra | apply Rmin_r]).
  assert (h <= delta / 2) as S by apply Rmin_l.
  assert (h <> 0) as NZ by lra. assert (Rabs h < delta) as A by (rewrite Rabs_right; lra).
  assert (K := H h NZ A). rewrite Rplus_0_l in K. apply Rabs_def2 in K. destruct K as [_ K].
  assert (phi h <= (1 - h) * phi 0 + h * phi 1) as Ch by (apply C; lra).
  assert ((phi h - phi 0) / h <= phi 1 - phi 0) as Q.
  { apply (Rmult_le_reg_r h); [lra |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
  lra.
Qed.
Print Assumptions topk_contracts.
Print Assumptions ring_sends_all_but_two_blocks.
Print Assumptions randk_contracts.
Print Assumptions chebyshev_sum.
Print Assumptions descent.
Print Assumptions tangent_below.
