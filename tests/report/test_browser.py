"""Reports in a real browser: no complaint, no request, and everything that can be clicked does what it says.

Screenshots go to ``output/screenshots`` for people to look at.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from manyview import GraphEnsemble, Views, describe
from manyview._utils.text import shortened
from manyview.audit import audit_seeds
from manyview.datasets import drop_views, load_digits_views, make_multiview
from manyview.report import Report
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
    """Samples that have pictures."""
    rows = np.arange(0, 1797, 6)
    return load_digits_views().take(rows), 10, {"pictures": load_digits().images[rows]}


def hostile():
    """Views that are missing, and names that try to be more than names."""
    views = drop_views(make_multiview(120, n_clusters=3, random_state=0), 0.3, random_state=0)
    names = [HOSTILE, "x" * 100_000, "plain"]
    ids = [f"{HOSTILE}{row}" for row in range(120)]
    labels = np.array([HOSTILE, "two", "three"])[views.labels]
    features = [[f"{HOSTILE}{j}" for j in range(width)] for width in views.n_features]
    rng = np.random.default_rng(0)
    known = {HOSTILE: labels, "age": np.where(np.arange(120) % 5, views.labels + rng.normal(size=120), np.nan)}
    known |= {"days": rng.exponential(10, size=120), "dead": rng.random(120) < 0.6}
    return (
        replace(
            views, names=names, sample_ids=ids, labels=labels, feature_names=features, metadata=pd.DataFrame(known)
        ),
        3,
        {"survival": "days,dead", "texts": [HOSTILE] * 120, "rename": {0: HOSTILE}},
    )


def many_clusters():
    return make_multiview(320, n_clusters=40, noise=0.01, random_state=0), 40, {}


@pytest.fixture(scope="module", params=[digits, hostile, many_clusters], ids=lambda make: make.__name__)
def report(request, described, tmp_path_factory):
    """The name, summary and address of a report."""
    views, k, known = request.param()
    model = GraphEnsemble(k, n_members=4, random_state=0).fit(views)
    audits = [] if k > 10 else [audit_seeds(GraphEnsemble(k, n_members=2), Views(views.arrays[:2]), n_seeds=2)]
    description = describe(views, model, p_values=False, **known)
    summary = summarise(model, views, described(model, views), audits=audits, description=description)
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
            assert page.locator(".classes[data-legend]:visible").count() == 1
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


def coloured_by(page):
    """Wait until the map says what it is coloured by, and return it."""
    sync_api.expect(page.locator("#coloured")).to_be_visible()
    return page.locator("#coloured strong").inner_text()


def test_heat_maps_of_markers_are_drawn(page, report):
    contents = report[1]["description"]
    switch = page.locator("#markers ~ .switched > .switch button")
    assert switch.count() == len(contents["heat"])
    for index, found in enumerate(contents["heat"]):
        switch.nth(index).click()
        shown = page.locator("figure.heat:visible")
        assert shown.count() == 1
        assert shown.locator(".hm image").count() == 1
        names = [text.replace("\xa0", " ") for text in shown.locator(".ytick text").all_text_contents()]
        assert names == [shortened(row["feature"], 20) for row in found["rows"]]
    switch.first.click()


def test_a_marker_that_is_chosen_colours_the_map(page, report):
    before = fills(page)
    page.evaluate("document.querySelectorAll('#markers ~ details').forEach((fold) => { fold.open = true; })")
    marker = page.locator("#markers ~ * button.marker:visible").first
    column = report[1]["description"]["columns"][int(marker.get_attribute("data-column"))]
    marker.focus()
    page.keyboard.press("Enter")
    assert coloured_by(page) == f"{column['name']} ({column['group']})".replace("\n", " ")
    after = fills(page)
    assert after != before
    known = [i for i, value in enumerate(column["values"]) if value is not None]
    highest, lowest = (choose(known, key=lambda i: column["values"][i]) for choose in (max, min))
    assert after[highest] != after[lowest]
    assert page.locator("#by-column").input_value() == marker.get_attribute("data-column")
    assert page.locator('.colouring button[aria-pressed="true"]').count() == 0
    page.locator(".colouring button").first.click()
    assert fills(page) == before
    assert page.locator("#by-column").input_value() == ""
    sync_api.expect(page.locator("#coloured")).to_be_hidden()


def test_a_row_of_the_heat_map_that_is_clicked_colours_the_map(page, report):
    found = report[1]["description"]["heat"][0]
    image = page.locator("figure.heat:visible .hm image")
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    row = len(found["rows"]) // 2
    x, y = box["x"] + 0.7 * box["width"], box["y"] + (row + 0.5) * box["height"] / len(found["rows"])
    page.mouse.move(x, y)
    page.wait_for_selector("figure.heat .hoverlayer .hovertext")
    shown = page.locator("figure.heat .hoverlayer .hovertext").text_content().replace("\xa0", " ")
    assert "(z " in shown
    page.mouse.click(x, y)
    name = report[1]["description"]["columns"][found["rows"][row]["column"]]["name"]
    assert coloured_by(page).startswith(name)


def test_metadata_colour_the_map(page, report):
    columns = report[1]["description"]["columns"]
    own = [index for index, column in enumerate(columns) if column["group"] is None]
    if not own:
        pytest.skip("this report has no metadata")
    for index in own:
        page.locator("#by-column").select_option(str(index))
        assert coloured_by(page) == columns[index]["name"]
        marked = page.locator(f'[data-legend="column {index}"]')
        if columns[index]["kind"] == "categories":
            sync_api.expect(marked).to_be_visible()
            assert marked.locator("li").count() == len(columns[index]["categories"])
        else:
            assert marked.count() == 0
            page.wait_for_selector("#samples .colorbar")
        gaps = None in columns[index]["values"]
        assert page.locator("#coloured .missing").is_visible() == gaps
        colours = fills(page)
        assert len({colours[i] for i, value in enumerate(columns[index]["values"]) if value is not None}) > 1
    assert page.locator("figure.column").count() == 2
    shoot(page, report, "metadata")


def test_survival_curves_are_drawn(page, report):
    survival = report[1]["description"]["survival"]
    curves = page.locator("#curves .scatterlayer .js-line")
    assert curves.count() == (0 if survival is None else len(survival["curves"]))
    if survival is not None:
        assert page.locator("#survival ~ .scroll tbody tr").count() == len(survival["curves"])


def test_typical_samples_have_their_pictures_or_texts(page, report):
    contents = report[1]["description"]
    listed = [one for cluster in contents["typical"] for role in ("typical", "doubtful") for one in cluster[role]]
    pictures = page.locator(".faces img")
    assert pictures.count() == sum(one["picture"] is not None for one in listed)
    assert page.locator(".texts .text").count() == sum(one["text"] is not None for one in listed)
    assert (pictures.count() > 0) == (report[0] == "digits")


def test_a_notebook_shows_the_report_in_place(browser, report, tmp_path):
    """As in a saved notebook: the page is in the output, and nothing of it can reach the notebook."""
    complaints, requests = [], []
    notebook = tmp_path / "notebook.html"
    shown = Report(url2pathname(urlparse(report[2]).path))._repr_html_()
    notebook.write_text(f"<!doctype html><meta charset=utf-8><title>mine</title>{shown}", encoding="utf-8")
    page = browser.new_page(viewport=WIDE, reduced_motion="reduce")
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("#samples .main-svg").first.wait_for()
    assert frame.locator("h1").inner_text().endswith("samples")
    outside = "() => { try { return parent.document.title } catch (error) { return 'refused' } }"
    assert page.frames[1].evaluate(outside) == "refused"
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:", "about:"))] == []
    page.screenshot(path=SCREENSHOTS / f"notebook-{report[0]}.png")
    page.close()
