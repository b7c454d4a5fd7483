"""What is known of selected rows says of the symbols of their models."""

import math

RUNS = {
    "arctopk.rows.ceiling": {
        "k": lambda mu, m: math.ceil(mu * m),
        "lost": lambda measured, m: measured * m,
    },
}
