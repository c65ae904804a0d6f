"""Reports in a real browser: no complaint, no request, and everything that can be clicked does what it says.

Screenshots go to ``output/screenshots`` for people to look at.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manyview import GraphEnsemble, Views
from manyview._utils.text import shortened
from manyview.audit import audit_seeds
from manyview.datasets import drop_views, load_digits_views, make_multiview
from manyview.report.run import render, summarise

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'manyview[dev]'")

SCREENSHOTS = Path(__file__).resolve().parents[2] / "output" / "screenshots"
HOSTILE = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>{{ 7 * 7 }}\n\x1b[31m<b>"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    """One headless Chromium for all tests of this file, with a new profile."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip(f"needs Chromium: none of {', '.join(CHROMIUM)} is installed")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


def digits():
    views = load_digits_views()
    return views.take(np.arange(0, views.n_samples, 6)), 10


def hostile():
    """Views that are missing, and names that try to be more than names."""
    views = drop_views(make_multiview(120, n_clusters=3, random_state=0), 0.3, random_state=0)
    names = [HOSTILE, "x" * 100_000, "plain"]
    ids = [f"{HOSTILE}{row}" for row in range(120)]
    return replace(views, names=names, sample_ids=ids, labels=np.array([HOSTILE, "two", "three"])[views.labels]), 3


def many_clusters():
    return make_multiview(320, n_clusters=40, noise=0.01, random_state=0), 40


@pytest.fixture(scope="module", params=[digits, hostile, many_clusters], ids=lambda make: make.__name__)
def report(request, described, tmp_path_factory):
    """The name, summary and address of a report."""
    views, k = request.param()
    model = GraphEnsemble(k, n_members=4, random_state=0).fit(views)
    audits = [] if k > 10 else [audit_seeds(GraphEnsemble(k, n_members=2), Views(views.arrays[:2]), n_seeds=2)]
    summary = summarise(model, views, described(model, views), audits=audits)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(summary), encoding="utf-8")
    return request.param.__name__, summary, path.as_uri()


@pytest.fixture(scope="module")
def window(browser, report):
    """The report in a window, which takes seconds to open; what was complained of; and what was asked for."""
    complaints, requests = [], []
    page = browser.new_page(viewport=WIDE, reduced_motion="reduce")
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report[2])
    page.wait_for_selector("#samples .main-svg")
    yield page, complaints, requests
    page.close()


@pytest.fixture
def page(window):
    """The report, as it is when it is opened. After the test, nothing may have been complained of or loaded."""
    page, complaints, requests = window
    for chosen in page.locator('.clusters button[aria-pressed="true"]').all():
        chosen.click()
    page.locator(".colouring button").first.click()
    yield page
    assert complaints == []
    assert requests
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def fills(page):
    """Colours of the points of the map, in their order."""
    return page.eval_on_selector_all("#samples .point", "points => points.map((point) => point.style.fill)")


def shades(page):
    """How opaque they are."""
    return page.eval_on_selector_all("#samples .point", "points => points.map((point) => point.style.opacity)")


def shoot(page, report, words):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{report[0]}-{words}.png", full_page=True)


@pytest.mark.parametrize(("viewport", "scheme"), [(PHONE, "light"), (WIDE, "dark"), (WIDE, "light")])
def test_it_fits_and_every_figure_is_drawn(page, report, viewport, scheme):
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=scheme)
    width = page.evaluate("document.querySelector('#samples .drawing').clientWidth")
    sync_api.expect(page.locator("#samples .main-svg").first).to_have_attribute("width", str(width))  # drawn anew
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    drawn = page.eval_on_selector_all(
        "figure.plot .drawing", "all => all.filter((one) => one.clientWidth).map((one) => one.childElementCount)"
    )
    assert len(drawn) >= 4
    assert all(drawn)
    assert page.eval_on_selector_all("img", "all => all.every((one) => one.naturalWidth > 0 && one.alt)")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = page.evaluate("document.querySelector('#samples .annotation text').style.fill")
    assert (background, ink) == (
        ("rgb(21, 24, 27)", "rgb(230, 233, 236)") if scheme == "dark" else ("rgb(255, 255, 255)", "rgb(29, 33, 37)")
    )
    shoot(page, report, f"{viewport['width']}-{scheme}")


def test_a_cluster_that_is_clicked_shows_its_samples(page, report):
    summary = report[1]
    assert page.locator(".members:visible").count() == 0
    page.locator(".clusters button").nth(1).click()
    shown = page.locator(".members:visible")
    assert shown.count() == 1
    expected = summary["cluster_samples"][1]
    assert shown.locator("h3").inner_text() == f"Cluster 1: {expected['size']} samples"
    listed = shown.locator("tbody td:first-child").all_text_contents()
    assert listed == [one["id"] for one in expected["shown"]]
    strong = [shade == "1" for shade in shades(page)]
    assert strong == [cluster == 1 for cluster in summary["map"]["cluster"]]
    page.locator(".clusters button").nth(1).click()
    assert page.locator(".members:visible").count() == 0


def test_a_point_that_is_clicked_shows_its_cluster(page, report):
    points = page.locator("#samples .point")
    last = points.count() - 1  # nothing lies above it
    points.nth(last).scroll_into_view_if_needed()
    box = points.nth(last).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#samples .hoverlayer .hovertext")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector(".members:visible")
    cluster = report[1]["map"]["cluster"][last]
    assert page.locator(".members:visible").get_attribute("data-cluster") == str(cluster)
    assert page.locator('.clusters button[aria-pressed="true"]').get_attribute("data-cluster") == str(cluster)


def test_switching_the_colouring_changes_the_colours(page, report):
    seen = {}
    for button in page.locator(".colouring button").all():
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator('.colouring button[aria-pressed="true"]').count() == 1
        seen[button.inner_text()] = fills(page)
        if button.inner_text() == "true label":
            assert page.locator(".classes:visible").count() == 1
    assert list(seen) == ["cluster", "true label", "agreement between views", "confidence"]
    n_clusters = len(set(report[1]["map"]["cluster"]))
    assert len(set(seen["cluster"])) == min(n_clusters, 10)
    assert seen["agreement between views"] != seen["cluster"] != seen["confidence"]
    page.locator(".colouring button").first.click()
    assert fills(page) == seen["cluster"]


def test_the_keyboard_reaches_the_buttons(page, report):
    page.locator(".colouring button").first.focus()
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator('.colouring button[aria-pressed="true"]').inner_text() == "agreement between views"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.clusters button')"):
            break
    page.keyboard.press("Space")
    assert page.locator(".members:visible").get_attribute("data-cluster") == "0"


def test_names_are_shown_as_they_are(page, report):
    assert page.evaluate("document.querySelectorAll('img[src=x], b').length") == 0
    table = page.locator("#views ~ .scroll").inner_text()
    on_axis = page.locator("#views ~ figure .ytick text").all_text_contents()
    for view in report[1]["views"]:
        assert view["name"] in table
        assert shortened(view["name"], 18) in [text.replace("\xa0", " ") for text in on_axis]
