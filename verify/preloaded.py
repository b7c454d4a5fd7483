"""What every task needs, imported once, so that workers that are forked from it have it at once; columns come later."""

from commbounds.verify import confront as confront
from commbounds.verify import exhibition as exhibition
