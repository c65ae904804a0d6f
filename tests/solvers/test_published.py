from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from manyview.engines import RowThreads
from manyview.graphs import bipartite_graph, component_labels, structured_graph
from manyview.io import read_views
from manyview.proximal import project_simplex, prox_squared_l12, soft_threshold
from manyview.solvers import published
from manyview.solvers.published import VARIANTS, History, Settings, consensus, init_state, run, update
from manyview.tensor import prox_schatten, schatten_norm

SETTINGS = Settings(n_clusters=3)


@pytest.fixture(scope="module")
def graphs():
    """Four views of 300 samples in 3 groups, 40 anchors: more rows than one block of the engine."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 6)) * 2
    labels = rng.integers(3, size=300)
    views = [centres[labels] + rng.normal(size=(300, 6)) * (0.5 + v / 4) for v in range(4)]
    anchors = rng.choice(300, 40, replace=False)
    return np.stack([bipartite_graph(x, x[anchors], 6).toarray() for x in views])


@pytest.fixture
def state(graphs):
    """A state in the middle of a run, where no variable is zero."""
    return run(graphs, SETTINGS, max_iter=48)[0]


@pytest.fixture
def threads():
    with RowThreads(2) as threads:
        yield threads


def dense_laplacian(graph, floor):
    return naive_laplacian(graph, floor)[0]


@pytest.mark.parametrize("slip", [False, True])
def test_c_step(state, threads, slip):
    s = state
    settings = Settings(n_clusters=3, last_view_slip=slip)
    expected = np.empty_like(s.C)
    for v in range(4):
        scale = 1 / np.sqrt(s.C[v].sum(axis=0) + settings.degree_floor)
        H = s.P_U @ (s.P_M * scale[:, None]).T / s.xi[v]
        G, Q = s.J[v] - s.Y2[v] / s.rho, s.B[v] - s.E[v] + s.Y1[v] / s.mu
        even = s.O[3 if slip else v] - s.Y3[v] / s.mu3
        target = s.rho * G + s.mu * Q + 2 * s.beta * H + s.mu3 * even
        expected[v] = project_simplex(target / (s.rho + s.mu + s.mu3))
    published.update_graphs(s, settings, threads)
    np.testing.assert_allclose(s.C, expected, atol=1e-12)


@pytest.mark.parametrize("axis", ["samples", "anchors", "views"])
def test_j_step(state, threads, axis):
    settings = Settings(n_clusters=3, tensor_axis=axis)
    expected, norm = prox_schatten(
        state.C + state.Y2 / state.rho,
        1 / state.rho,
        0.9,
        ["views", "samples", "anchors"].index(axis),
        sweeps=4,
    )
    assert published.update_low_rank(state, settings, threads) == pytest.approx(norm)
    np.testing.assert_allclose(state.J, expected, atol=1e-12)


def test_o_step(state, threads):
    expected = np.stack(
        [
            prox_squared_l12(c + y / state.mu3, 2 * SETTINGS.sparsity_weight / state.mu3)
            for c, y in zip(state.C, state.Y3, strict=True)
        ]
    )
    value = published.update_even(state, SETTINGS, threads)
    np.testing.assert_allclose(state.O, expected, atol=1e-12)
    loads = np.abs(expected).sum(axis=1)
    assert value == pytest.approx(SETTINGS.sparsity_weight * (loads**2).sum())


def test_e_step(state, threads):
    state.mu = 0.5  # late in a run, where the threshold lets something through
    expected = soft_threshold(state.B - state.C + state.Y1 / state.mu, SETTINGS.noise_weight / state.mu)
    assert (expected != 0).any()
    value = published.update_errors(state, SETTINGS, threads)
    np.testing.assert_allclose(state.E, expected, atol=1e-14)
    assert value == pytest.approx(SETTINGS.noise_weight * np.abs(expected).sum())


def test_p_step_minimises_the_trace(state):
    published.update_eigenvectors(state, SETTINGS)
    P = np.vstack([state.P_U, state.P_M])
    np.testing.assert_allclose(P.T @ P, np.eye(3), atol=1e-10)
    L = sum(dense_laplacian(c, SETTINGS.degree_floor) / xi for c, xi in zip(state.C, state.xi, strict=True))
    smallest = np.linalg.eigvalsh(L)[:3].sum()
    assert np.trace(P.T @ L @ P) == pytest.approx(smallest, abs=1e-8)


def test_xi_step_minimises_the_weighted_traces(state):
    value = published.update_view_factors(state, SETTINGS)
    P = np.vstack([state.P_U, state.P_M])
    h2 = np.array([np.trace(P.T @ dense_laplacian(c, SETTINGS.degree_floor) @ P) for c in state.C])
    np.testing.assert_allclose(state.xi, np.sqrt(h2) / np.sqrt(h2).sum(), atol=1e-10)
    assert value == pytest.approx((h2 / state.xi).sum())
    for other in np.random.default_rng(0).dirichlet(np.ones(4), size=100):
        assert (h2 / other).sum() >= value - 1e-12


def test_multiplier_step(state, threads):
    s = state
    noise, tensor, even = s.B - s.C - s.E, s.C - s.J, s.C - s.O
    y1, y2, y3 = s.Y1 + s.mu * noise, s.Y2 + s.rho * tensor, s.Y3 + s.mu3 * even
    mu = s.mu
    residuals = published.update_multipliers(s, SETTINGS, threads)
    np.testing.assert_allclose(s.Y1, y1, atol=1e-14)
    np.testing.assert_allclose(s.Y2, y2, atol=1e-14)
    np.testing.assert_allclose(s.Y3, y3, atol=1e-14)
    assert residuals == pytest.approx((np.abs(noise).max(), np.abs(tensor).max(), np.abs(even).max()))
    assert s.mu == pytest.approx(1.1 * mu)


@pytest.mark.parametrize(
    ("values", "factor"),
    [
        ([0.9, 0.9, 0.9, 0.1], 2.0),
        ([1.0, 1.0, 1.0, 1.0], 0.5),
        ([1.0, 1.0, 1.0, 0.2], 1.0),
        ([9, 8, 7, 6], 0.5),
    ],
)
def test_beta_step(state, values, factor):
    state.beta = 3.0
    published.update_connectivity_weight(state, SETTINGS, np.array(values, dtype=float))
    assert state.beta == 3.0 * factor


def test_invariants_of_a_run(graphs):
    before = graphs.copy()

    def check(state, history):
        assert (state.C >= 0).all()
        np.testing.assert_allclose(state.C.sum(axis=2), 1, atol=1e-10)
        assert state.xi.sum() == pytest.approx(1)
        assert (state.xi > 0).all()
        assert np.isfinite(history.objective[-1])

    state, history = run(graphs, SETTINGS, max_iter=30, on_pass=check)
    assert state.n_iter == 30 == len(history.objective) == len(history.view_weights)
    np.testing.assert_array_equal(graphs, before)
    mean = consensus(state)
    np.testing.assert_allclose(mean.sum(axis=1), 1, atol=1e-10)
    weights = (1 / state.xi) / (1 / state.xi).sum()
    np.testing.assert_allclose(mean, np.einsum("v,vij", weights, state.C))


def test_connectivity_weight_is_halved_in_every_pass(graphs):
    """What the authors' rule comes to, since it compares unnormalised singular values."""
    _, history = run(graphs, SETTINGS, max_iter=20)
    np.testing.assert_allclose(history.connectivity_weight, 10.0 / 2.0 ** np.arange(1, 21))


def test_residuals_vanish_when_it_runs_long_enough(graphs):
    _, history = run(graphs, SETTINGS, max_iter=300, tol=1e-4)
    assert len(history.objective) < 300
    assert max(history.noise_residual[-1], history.tensor_residual[-1], history.even_residual[-1]) < 1e-4
    assert history.noise_residual[51] > 0.05  # after the published number of passes they have not


@pytest.mark.parametrize("axis", ["samples", "anchors"])
def test_order_of_views_does_not_matter(graphs, axis):
    settings = Settings(n_clusters=3, tensor_axis=axis)
    straight, _ = run(graphs, settings, max_iter=25)
    turned, _ = run(graphs[::-1].copy(), settings, max_iter=25)
    np.testing.assert_allclose(turned.xi[::-1], straight.xi, atol=1e-8)


def test_threads_do_not_change_a_bit(graphs):
    first, _ = run(graphs, SETTINGS, max_iter=40, n_threads=1)
    second, _ = run(graphs, SETTINGS, max_iter=40, n_threads=4)
    np.testing.assert_array_equal(first.C, second.C)
    np.testing.assert_array_equal(first.xi, second.xi)


def test_zero_sparsity_weight_is_the_limit_of_small_ones(graphs):
    none, _ = run(graphs, Settings(n_clusters=3, sparsity_weight=0.0), max_iter=20)
    tiny, _ = run(graphs, Settings(n_clusters=3, sparsity_weight=1e-14), max_iter=20)
    np.testing.assert_allclose(none.C, tiny.C, atol=1e-6)


def test_p_one_is_the_limit_of_p(graphs):
    one, _ = run(graphs, Settings(n_clusters=3, p=1.0), max_iter=20)
    nearly, _ = run(graphs, Settings(n_clusters=3, p=0.999999, shrinkage_sweeps=None), max_iter=20)
    np.testing.assert_allclose(one.C, nearly.C, atol=1e-3)


def test_the_objective_is_that_of_the_variables(state, threads):
    state.mu, history = 0.5, History()  # as late in a run, where some noise is left
    update(state, SETTINGS, threads, history)
    P = np.vstack([state.P_U, state.P_M])
    traces = [np.trace(P.T @ dense_laplacian(c, SETTINGS.degree_floor) @ P) for c in state.C]
    rank = schatten_norm(state.J, SETTINGS.p, ["views", "samples", "anchors"].index(SETTINGS.tensor_axis))
    noise = SETTINGS.noise_weight * np.abs(state.E).sum()
    even = SETTINGS.sparsity_weight * (np.abs(state.O).sum(axis=1) ** 2).sum()
    assert noise > 0
    expected = rank + noise + state.beta * (traces / state.xi).sum() + even
    assert history.objective == [pytest.approx(expected, rel=1e-9)]


def test_update_is_what_run_repeats(graphs, threads):
    state, history = init_state(graphs, SETTINGS, 10.0), History()
    for _ in range(3):
        update(state, SETTINGS, threads, history)
    expected, _ = run(graphs, SETTINGS, max_iter=3)
    np.testing.assert_array_equal(state.C, expected.C)


@pytest.mark.parametrize("order", ["file", "shuf"])
def test_parity_with_the_authors_program(oracle, data_file, order):
    """With their anchors and their slip: the same view factors, consensus graph and labels."""
    stored = oracle(f"tbgl__msrc__{order}")
    views = [np.asarray(x, dtype=float) for x in read_views(data_file("MSRC-v5.mat")).arrays]
    views = [x / x.max() for x in views]
    if order == "shuf":
        views = [x[oracle("perms")["msrc"]] for x in views]
    anchors = stored["anchor_indices"]
    graphs = np.stack([bipartite_graph(x, x[anchors], 10).toarray() for x in views])
    state, _ = run(graphs, Settings(n_clusters=7, last_view_slip=True), max_iter=52)
    np.testing.assert_allclose(state.xi, stored["xi"], atol=1e-8)
    np.testing.assert_allclose(consensus(state), stored["consensus"], atol=1e-8)
    labels = component_labels(structured_graph(sp.csr_array(consensus(state)), 7).graph)[1]
    assert adjusted_rand_score(labels, stored["labels"]) == 1


# Both variants against a version that shares no code with the solver: full Fourier transforms, a singular value
# decomposition per slice, a sorted simplex projection row by row, and Laplacians of n + m rows.


def naive_simplex(row):
    ordered = np.sort(row)[::-1]
    excess = np.cumsum(ordered) - 1
    count = np.arange(1, len(row) + 1)
    last = count[ordered - excess / count > 0][-1]
    return np.maximum(row - excess[last - 1] / last, 0)


def naive_shrinkage(value, weight, p, sweeps):
    least = (2 * weight * (1 - p)) ** (1 / (2 - p))
    if value <= least + weight * p * least ** (p - 1):
        return 0.0
    found = value
    for _ in range(sweeps or 200):
        found = value - weight * p * found ** (p - 1)
    return found


def naive_low_rank(tensor, settings, rho):
    axis = ["views", "samples", "anchors"].index(settings.tensor_axis)
    spectrum = np.fft.fft(np.moveaxis(tensor, axis, 0), axis=0)
    weight = (len(spectrum) if settings.norm_scale == "paper" else 1) / rho
    for i, part in enumerate(spectrum):
        u, values, vt = np.linalg.svd(part, full_matrices=False)
        spectrum[i] = (u * [naive_shrinkage(x, weight, settings.p, settings.shrinkage_sweeps) for x in values]) @ vt
    return np.moveaxis(np.fft.ifft(spectrum, axis=0).real, 0, axis)


def naive_even(graph, weight):
    """Minimise ``½|X - graph|² + weight/2·Σ_j(Σ_i|X_ij|)²``, column by column, by the condition on its threshold."""
    found = np.zeros_like(graph)
    for j, column in enumerate(graph.T):
        sizes = np.sort(np.abs(column))[::-1]
        sums, count = np.cumsum(sizes), np.arange(1, len(sizes) + 1)
        thresholds = weight * sums / (1 + weight * count)
        kept = count[sizes > thresholds]
        if len(kept):
            found[:, j] = np.sign(column) * np.maximum(np.abs(column) - thresholds[kept[-1] - 1], 0)
    return found


def naive_laplacian(graph, floor):
    """Return the normalised Laplacian of n + m rows, and the factors of the anchors; 0 for anchors without edges."""
    n, m = graph.shape
    full = np.zeros((n + m, n + m))
    full[:n, n:], full[n:, :n] = graph, graph.T
    degrees = full.sum(axis=1)
    degrees[n:] += floor
    scale = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in degrees])
    return np.eye(n + m) - scale[:, None] * full * scale, scale[n:]


def naive_passes(B, settings, beta, n_passes):
    """Yield C, E, J, O and ξ after each pass, by the table at the head of the solver's module."""
    n_views, n, _ = B.shape
    k, floor, program = settings.n_clusters, settings.degree_floor, settings.variant == "program"
    C, xi = B.copy(), np.full(n_views, 1 / n_views)
    E, J, O, Y1, Y2, Y3 = (np.zeros_like(B) for _ in range(6))  # noqa: E741
    mu = rho = settings.initial_penalty
    mu3 = mu if program else 0.0

    def eigenvectors():
        laplacian = sum(naive_laplacian(c, floor)[0] / x for c, x in zip(C, xi, strict=True))
        return np.linalg.eigh(laplacian)[1][:, :k]

    def graph(v):
        H = P[:n] @ (P[n:] * naive_laplacian(C[v], floor)[1][:, None]).T / xi[v]
        target = rho * J[v] - Y2[v] + mu * (B[v] - E[v]) + Y1[v] + 2 * beta * H + mu3 * O[v] - Y3[v]
        return [naive_simplex(row) for row in target / (rho + mu + mu3)]

    def errors():
        target = B - C + Y1 / mu
        return np.sign(target) * np.maximum(np.abs(target) - settings.noise_weight / mu, 0)

    P = eigenvectors()
    for _ in range(n_passes):
        if program:
            C = np.array([graph(v) for v in range(n_views)])
            J = naive_low_rank(C + Y2 / rho, settings, rho)
            O = np.array([naive_even(c + y / mu3, 2 * settings.sparsity_weight / mu3) for c, y in zip(C, Y3)])  # noqa: B905, E741
            E = errors()
            P = eigenvectors()
            W = sum(c * naive_laplacian(c, floor)[1] / x for c, x in zip(C, xi, strict=True))
            values = np.linalg.svd(W, compute_uv=False)
            beta *= 2 if values[:k].sum() < k - 1e-7 else 0.5 if values[: k + 1].sum() > k + 1 - 1e-7 else 1
        else:
            P = eigenvectors()
            C = np.array([graph(v) for v in range(n_views)])
            E = errors()
            J = naive_low_rank(C + Y2 / rho, settings, rho)
        h = np.sqrt([max(np.trace(P.T @ naive_laplacian(c, floor)[0] @ P), 1e-12) for c in C])
        xi = h / h.sum()
        Y1, Y2, Y3 = Y1 + mu * (B - C - E), Y2 + rho * (C - J), Y3 + mu3 * (C - O)
        mu, rho, mu3 = (1.1 * penalty for penalty in (mu, rho, mu3))
        yield {"C": C, "E": E, "J": J, "O": O, "xi": xi}


def small_graphs():
    """Three views of 45 samples in 3 groups, 15 anchors."""
    rng = np.random.default_rng(1)
    labels, anchors = rng.integers(3, size=45), rng.choice(45, 15, replace=False)
    centres = 2 * rng.normal(size=(3, 6))
    views = [centres[labels] + rng.normal(size=(45, 6)) * (0.5 + v / 4) for v in range(3)]
    return np.stack([bipartite_graph(x, x[anchors], 6).toarray() for x in views])


# Rounding errors of P count 1/√floor times in views that hardly use an anchor: with the program's eps that is 7e7, so
# that C differs by some 1e-4 in a few early passes and comes together again. A larger floor shows that all else agrees.
@pytest.mark.parametrize(
    ("variant", "more", "atol"),
    [
        ("program", {"degree_floor": 1e-8}, 1e-6),
        ("program", {}, 1e-3),
        ("paper", {}, 1e-6),
        ("paper", {"degree_floor": 1e-8, "tensor_axis": "samples"}, 1e-6),
    ],
)
@pytest.mark.parametrize("beta", [10.0, 0.1])
def test_every_pass_is_that_of_the_naive_version(variant, more, atol, beta):
    graphs = small_graphs()
    settings = Settings(3, variant=variant, **VARIANTS[variant] | more)
    naive = naive_passes(graphs, settings, beta, 50)

    def compare(state, history):
        for letter, expected in next(naive).items():
            np.testing.assert_allclose(getattr(state, letter), expected, atol=atol, err_msg=f"{letter}, {state.n_iter}")

    state, _ = run(graphs, settings, connectivity_weight=beta, max_iter=50, on_pass=compare)
    assert state.n_iter == 50


def test_a_small_beta_makes_rounding_errors_grow():
    """At β = 1e-3 the paper's variant and its naive version part: no more than the naive version does from itself.

    Its input is changed by one part in 1e15. Both distances pass 1e-6 after some thirty passes and reach order 1.
    """
    graphs, settings = small_graphs(), Settings(3, variant="paper", **VARIANTS["paper"])
    signs = np.random.default_rng(0).choice([-1, 1], size=graphs.shape)
    ours = []
    run(graphs, settings, connectivity_weight=1e-3, max_iter=50, on_pass=lambda state, _: ours.append(state.C.copy()))
    naive, moved = (
        np.array([found["C"] for found in naive_passes(start, settings, 1e-3, 50)])
        for start in (graphs, graphs * (1 + 1e-15 * signs))
    )
    own, growth = (np.abs(found - naive).max(axis=(1, 2, 3)) for found in (np.array(ours), moved))
    assert growth[0] < 1e-13
    assert growth[24] < 1e-8 < 1e-6 < growth[33]
    assert growth[44:].max() > 0.1
    assert (own <= 30 * np.maximum.accumulate(growth)).all()


def test_the_papers_start_and_order_of_updates(graphs, threads, monkeypatch):
    """Algorithm 1: C = B, E = J = Y = 0, then P, C, E, J, ξ and the multipliers, without a third copy."""
    settings = Settings(3, variant="paper", **VARIANTS["paper"])
    state = init_state(graphs, settings, 1.0)
    np.testing.assert_array_equal(state.C, graphs)
    for letter in ("E", "J", "O", "Y1", "Y2", "Y3"):
        assert not getattr(state, letter).any()
    assert (state.mu, state.rho, state.mu3) == (1e-5, 1e-5, 0.0)
    assert state.O.strides == (0, 0, 0)  # no memory
    update(state, settings, threads, History())
    called = []
    for name in ("eigenvectors", "graphs", "errors", "low_rank", "even", "connectivity_weight", "view_factors"):
        step = getattr(published, f"update_{name}")
        monkeypatch.setattr(published, f"update_{name}", lambda *a, n=name, f=step: called.append(n) or f(*a))
    update(state, settings, threads, History())
    assert called == ["eigenvectors", "graphs", "errors", "low_rank", "view_factors"]
    assert state.beta == 1.0


def test_the_paper_with_a_sparsity_weight_has_the_third_copy(graphs):
    settings = Settings(3, variant="paper", **VARIANTS["paper"] | {"sparsity_weight": 1e-4})
    state, history = run(graphs, settings, max_iter=3)
    assert state.mu3 > 0
    assert state.O.any()
    assert history.even_residual[-1] > 0
