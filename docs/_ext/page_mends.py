"""What the theme leaves undone for those who read by ear or by keyboard."""


def name_levels(app, pagename, templatename, context, doctree):
    """Give the captions of the sidebar, which are headings to a screen reader, their level."""
    tree = context.get("furo_navigation_tree")
    if tree:
        context["furo_navigation_tree"] = tree.replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )


def setup(app):
    app.connect("html-page-context", name_levels, priority=900)  # after the theme
    app.add_js_file("scrollable.js", loading_method="defer")
