"""How Sphinx builds the site: ``sphinx-build -W --keep-going docs site``. Nothing is loaded from anywhere else."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import pages  # noqa: E402  the module beside this one

import commbounds  # noqa: E402

project = "commbounds"
author = "The commbounds developers"
copyright = author
version = release = commbounds.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc"]
exclude_patterns = ["_build"]
nitpicky = False
default_role = "py:obj"

# Docstrings say shapes and ranges, for readers: signatures leave types out.
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
add_module_names = False
toc_object_entries_show_parents = "hide"

myst_heading_anchors = 3
myst_links_external_new_tab = False

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"commbounds {release}"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


def setup(app):
    """Has the generated pages written before sources are read, and every public name looked for when all are."""
    app.connect("builder-inited", lambda app: pages.write(Path(app.srcdir)))
    app.connect("source-read", pages.freed)
    app.connect("autodoc-process-docstring", pages.spelled)
    app.connect("env-check-consistency", pages.complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
