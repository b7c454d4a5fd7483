"""The scoreboard: other people's packages, each in an environment of its own, held to what they say of themselves."""
