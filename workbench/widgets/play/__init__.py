"""play.html: a page in which a link opens as a lab, with a browser's own Python behind it."""
