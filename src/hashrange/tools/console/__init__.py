"""The web console: pages to look at a database and, if allowed, to change it.

    with open_target("app.db") as target, serving(Console(target)) as url:
        ...

`console` has the state that all pages share, `visits` the request and the answer of a page, `app`
joins the pages, `security` is the guard in front of them, and `serving` runs it. `values`,
`entities` and `shapes` turn values, items and tables into something that templates can show.
`searching` continues to read until a page is full, and `ways` has links to similar items. `tour`
has the tables of the guided tour, whose steps are in `pages/learn`; `rings` lays out partitions for
a picture, `stream_tails` reads streams, and `watching` asks the admin port of a server.

**To add a page**, write a module in `pages/` that ends by assigning `PAGE`, and add it to
`pages.PAGES`. The navigation, the tabs of a table, the routes and their tests are made from
`pages.PAGES`:

    def show(visit: Visit) -> Response:
        shape = visit.console.table(visit.path["table"])
        return visit.page("streams.html", shape=shape)

    PAGE = Page("Streams", "/table/{table}/streams", (Route("/table/{table}/streams", show),))

Functions of pages run in threads and call boto3 through `visit.console.call`, which refuses methods
that write if the console is read-only. A route that writes must be made by `writes(...)`. Mistakes
of the user are raised as `Mistake`. The content of items is never logged.

A template extends `layout` and fills the block `content`. `layout` is `base.html` or, for a request
of htmx, `partial.html`. If a template gets a `shape`, the page shows the tabs of that table.
`macros.html` (as `m`) shows values, keys, items and forms. Text of items passes through the filter
`shown`, which makes invisible characters visible.

The content security policy allows no inline script or style, not even `style=`: use classes, SVG's
own attributes (`fill`, `width`), `<meter>`, `<progress>`. `static/console.css` has its colours as
custom properties with `light-dark()`; a test computes their contrast. Parts that change by
themselves use htmx (`hx-get`, `hx-trigger="every 1s"`). `static/console.js` has the keyboard and
the theme: `data-row`, `data-search`, `data-edit` and `data-next` name the elements that keys act
on. `static/grid.js` sorts the rows of a page, edits single cells in a dialog and adds up the counts
of values. `static/places.js` keeps tabs (of the window) and saved queries (of the browser).
"""

from hashrange.tools.console.console import Console
from hashrange.tools.console.serving import serving

__all__ = ["Console", "serving"]
