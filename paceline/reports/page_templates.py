"""The templates of all pages, and the words that each of them may use."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from alerts.wording import amount_text, percent_text, span_text


def page_templates() -> Environment:
    """Return the templates; names from data are escaped, and what is not given is an error."""
    templates = Environment(
        loader=PackageLoader("paceline.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "span": span_text,
        "percent": percent_text,
        "amount": amount_text,
        "drawing": Markup,  # drawings are our own: Vega escapes the names that it writes into them
    }
    return templates
