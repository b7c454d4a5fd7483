(* Made by `commbounds certificates --coq`. Checked with Coq's standard library alone. *)
From Coq Require Import Reals Lra Psatz.
Open Scope R_scope.

Lemma factor_nonneg (c s : R) : 0 < c -> 0 <= c * s -> 0 <= s.
Proof. intros Hc H. apply (Rmult_le_reg_l c); [exact Hc | rewrite Rmult_0_r; exact H]. Qed.

Lemma factor_zero (c s : R) : 0 < c -> c * s = 0 -> s = 0.
Proof. intros Hc H. apply Rmult_integral in H. destruct H as [H | H]; [lra | exact H]. Qed.

Lemma root (e w : R) : 0 <= w -> e = w ^ 2 -> sqrt e = w.
Proof. intros Hw H. rewrite H. apply sqrt_pow2. exact Hw. Qed.

Ltac pos :=
  first
    [ assumption | lra
    | match goal with
      | |- 0 < _ * _ => apply Rmult_lt_0_compat; pos
      | |- 0 < / _ => apply Rinv_0_lt_compat; pos
      | |- 0 < _ / _ => unfold Rdiv; pos
      | |- 0 < _ ^ _ => apply pow_lt; pos
      | |- 0 < _ + _ =>
          first [apply Rplus_lt_0_compat; pos | apply Rplus_lt_le_0_compat; [pos | nonneg]
                | apply Rplus_le_lt_0_compat; [nonneg | pos]]
      end
    | nra ]
with nonneg :=
  first
    [ assumption | apply Rlt_le; assumption | lra
    | match goal with
      | |- 0 <= _ ^ 2 => apply pow2_ge_0
      | |- 0 <= _ * _ => apply Rmult_le_pos; nonneg
      | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; nonneg
      | |- 0 <= _ ^ _ => apply pow_le; nonneg
      | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; pos
      | |- 0 <= _ / _ => unfold Rdiv; nonneg
      end
    | nra ].

Ltac nonzero :=
  first
    [ assumption | lra
    | match goal with
      | |- _ * _ <> 0 => apply Rmult_integral_contrapositive_currified; nonzero
      | |- _ ^ _ <> 0 => apply pow_nonzero; nonzero
      | |- / _ <> 0 => apply Rinv_neq_0_compat; nonzero
      | |- - _ <> 0 => apply Ropp_neq_0_compat; nonzero
      | |- _ => apply Rgt_not_eq; unfold Rgt; pos
      | |- _ => apply Rlt_not_eq; match goal with |- ?e < 0 => cut (0 < - e); [lra | pos] end
      end
    | nra ].

Ltac identity := first [ring | field; repeat split; nonzero].
