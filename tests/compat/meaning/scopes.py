"""Scopes, control dependencies, collections and graph surgery."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compat.meaning import Place, in_process, program, raised


@program
def control_dependency_beside_an_input(place: Place) -> Any:
    tf = place.tf
    count = tf.Variable(0)
    x = tf.constant(5.0)
    with tf.control_dependencies([x, tf.assign_add(count, 1).op]):
        y = tf.identity(x)
    with place.session() as session:
        return [session.run(y) for _ in range(3)], session.run(count)


@program
def control_inputs_of_nested_scopes(place: Place) -> Any:
    tf = place.tf
    x, up = tf.constant(1.0, name="x"), tf.no_op(name="up")
    with tf.control_dependencies([x, up]):
        y = tf.identity(x, name="y")
        made = [y, tf.identity(y), tf.add(x, y), tf.constant(2.0)]
        with tf.control_dependencies([made[1]]):
            inner = tf.identity(x)
            made += [inner, tf.identity(y), tf.add(inner, x), tf.identity(made[1])]
            with tf.control_dependencies(None):
                made.append(tf.identity(y))
            with tf.control_dependencies([up, inner]):
                made += [tf.identity(x), tf.identity(inner), tf.constant(3.0)]
    return [sorted(op.name for op in t.op.control_inputs) for t in made]


@program
def control_inputs_in_a_branch(place: Place) -> Any:
    tf = place.tf
    x, up = tf.constant(1.0, name="x"), tf.no_op(name="up")
    found = []

    def branch() -> Any:
        with tf.control_dependencies([up]):
            y = tf.identity(x, name="inside")
        found.append(sorted(op.name for op in y.op.control_inputs))
        return y

    tf.cond(tf.constant(True), branch, lambda: x)
    return found


@program
def updates_then_loss(place: Place) -> Any:
    tf = place.tf
    seen = tf.Variable(0.0)
    loss = tf.constant(2.0) * 3.0
    updates = [tf.assign_add(seen, 1.0).op, tf.assign_add(seen, 10.0).op]
    with tf.control_dependencies([*updates, loss]):
        again = tf.identity(loss)
    with place.session() as session:
        return session.run(again), session.run(seen)


@program
def with_dependencies_of_a_variable(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    changed = v.assign_add(2.0)
    with tf.control_dependencies([v, changed]):
        y = v * 10.0
    return place.run(y)


@program
def tuple_of_updates(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(1.0)
    first, second = tf.tuple([v.value(), tf.assign_add(v, 1.0)])
    return place.run([first * 1.0, second * 1.0])


@program
def group_of_nested_things(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    things = {"a": tf.assign_add(v, 1.0), "b": [tf.assign_add(v, 2.0), tf.no_op()]}
    kinds = [raised(lambda value=value: tf.group(value)) for value in (None, [None], 3, "x", things.values())]
    grouped = tf.group(things, things.values())
    with place.session() as session:
        session.run(grouped)
        return kinds, session.run(v), session.run(tf.group())


@program
def names_of_scopes(place: Place) -> Any:
    tf = place.tf
    names = []
    with tf.name_scope("a") as scope:
        names.append(scope)
        names.append(tf.constant(1.0).name)
        with tf.name_scope(scope):
            names.append(tf.constant(1.0).name)
        with tf.name_scope(None):
            names.append(tf.constant(1.0).name)
        with tf.variable_scope("v"):
            names += [tf.get_variable("w", []).name, tf.add(1, 2).name]
        with tf.variable_scope("v", reuse=True):
            names += [tf.get_variable("w", []).name, tf.add(1, 2).name]
    with tf.variable_scope("v", auxiliary_name_scope=False, reuse=tf.AUTO_REUSE):
        names += [tf.get_variable("w", []).name, tf.add(1, 2).name]
    with tf.name_scope("a"):
        names.append(tf.constant(1.0, name="c").name)
    return names


@program
def reuse_of_scopes(place: Place) -> Any:
    tf = place.tf
    found = []
    for reuse in ("x", "", 0, 1, 2.0, [], None, False, True, tf.AUTO_REUSE):

        def enter(reuse: Any = reuse) -> None:
            with tf.variable_scope("s", reuse=reuse) as scope:
                found.append(scope.reuse is tf.AUTO_REUSE or bool(scope.reuse))

        found.append(raised(enter))
    return found


@program
def custom_getter_and_creator_arguments(place: Place) -> Any:
    tf = place.tf
    seen: list[Any] = []

    def getter(getter: Any, name: str, *args: Any, **arguments: Any) -> Any:
        seen.append((name, arguments["trainable"], arguments["reuse"], arguments["collections"]))
        return getter(name, *args, **arguments)

    def creator(following: Any, **arguments: Any) -> Any:
        seen.append((arguments["trainable"], arguments["name"], arguments["validate_shape"]))
        return following(**arguments)

    on_read = tf.VariableSynchronization.ON_READ
    with tf.variable_scope("a", custom_getter=getter), tf.variable_creator_scope(creator):
        tf.get_variable("v", [1])
        tf.get_variable("w", [1], trainable=False)
        tf.get_variable("x", [1], synchronization=on_read, aggregation=tf.VariableAggregation.SUM)
        tf.get_local_variable("l", [1])
        tf.Variable(1.0)
    return seen, [v.name for v in tf.trainable_variables()]


@program
def truth_of_variables(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable(0.0)
    resource = tf.Variable(0.0, use_resource=True)
    kinds = [raised(lambda: bool(resource)) != "nothing", raised(lambda: bool(v + 1)) != "nothing"]
    return bool(v), (v or 5) is v, kinds


@program
def gradients_by_tensors(place: Place) -> Any:
    tf = place.tf
    x, v = tf.constant(3.0), tf.Variable(2.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = optimizer.compute_gradients(x * x * v, [x, v.value()])
    kind = raised(lambda: optimizer.apply_gradients(pairs))
    return kind, pairs[0][1] is x, place.run([gradient for gradient, _ in pairs])


@program
def variables_of_any_structure(place: Place) -> Any:
    tf = place.tf
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    loss = tf.square(a) + tf.square(b)
    optimizer = tf.train.GradientDescentOptimizer(0.25)
    found = []
    for chosen in ({"a": a}, [[a], [b]], (b,), a):
        gradients = optimizer.compute_gradients(loss, var_list=chosen)
        found.append([v.name for _, v in gradients])
    train = optimizer.minimize(loss, var_list=[b, a])
    with place.session() as session:
        session.run(train)
        return found, session.run([a, b])


@program
def failed_imports_leave_nothing(place: Place) -> Any:
    tf = place.tf
    found = []
    for op, kind, wanted in (("NoSuchOp", 1, None), ("Identity", 3, None), ("Identity", 1, ["zz:0"])):
        with tf.Graph().as_default() as graph:
            definition = tf.GraphDef()
            node = definition.node.add(name="a", op="Const")
            node.attr["dtype"].type = 1
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
            node = definition.node.add(name="b", op=op, input=["a"])
            node.attr["T"].type = kind
            x = tf.constant(4.0, name="x")

            def bring(definition: Any = definition, wanted: Any = wanted, x: Any = x) -> None:
                tf.import_graph_def(definition, {"a:0": x}, wanted, name="")

            found.append(raised(bring))
            found.append([operation.name for operation in graph.get_operations()])
            found.append(len(x.consumers()))
            found.append(tf.constant(1.0, name="a").name)
    return found


@program
def training_nodes_removed(place: Place) -> Any:
    tf = place.tf
    with tf.device(None):
        w = tf.Variable(1.0, name="w")
        y = tf.identity(w * 2.0, name="y")
        k = tf.identity(w, name="k")
        with tf.control_dependencies([y]):
            waits = tf.identity(k, name="waits")
        tf.add(waits, y, name="out")
    definition = tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def(), ["k"])
    return [(node.name, list(node.input)) for node in definition.node if node.op != "Const"]


@program
def large_sizes(place: Place) -> Any:
    tf = place.tf
    big = 1 << 40
    free = tf.placeholder(tf.float32, [None])
    shapes = [
        tf.fill([big], 1.0),
        tf.fill(np.array([big, 2]), 1.0),
        tf.reshape(free, [big]),
        tf.tile([1.0], [big]),
        tf.broadcast_to(1.0, [big]),
        tf.random_uniform([big]),
        tf.random_normal([2, big]),
        tf.pad([1.0], [[0, big]]),
        tf.zeros([big]),
        tf.ones([big]),
        tf.eye(1 << 33, 1),
        tf.slice(tf.placeholder(tf.float32, [2 * big]), [5], [big]),
        tf.placeholder(tf.float32, [2 * big])[big : big + 7],
    ]
    return [t.shape.as_list() for t in shapes], raised(lambda: tf.reshape(tf.constant([1.0]), [big]))


@program
def large_reshape_in_a_step(place: Place) -> Any:
    tf = place.tf
    x = tf.placeholder(tf.float32, [None])
    y = tf.reshape(x, [1 << 40])
    with tf.Session(place.target) as session:
        return raised(lambda: session.run(y, {x: [1.0, 2.0]}))


@program
def lists_of_mixed_tensors(place: Place) -> Any:
    tf = place.tf
    one, real = tf.constant(1), tf.constant(1.0)
    return [
        raised(lambda: tf.convert_to_tensor([real, one])),
        raised(lambda: tf.convert_to_tensor([one, 1.5])),
        raised(lambda: tf.stack([real, one])),
        raised(lambda: tf.add_n([real, one])),
        raised(lambda: tf.concat([[real], [one]], 0)),
    ]


@program
def sums_of_any_iterable(place: Place) -> Any:
    tf = place.tf
    parts = {"a": tf.constant(1.0), "b": tf.constant(2.0)}
    return place.run([tf.add_n(parts.values()), tf.add_n(part for part in parts.values())])


@in_process
def python_function_without_results(place: Place) -> Any:
    tf = place.tf
    calls: list[float] = []
    run = tf.py_func(lambda x: calls.append(float(x)), [tf.constant(2.0)], [])
    with tf.control_dependencies([run]):
        y = tf.constant(1.0) + 1.0
    with tf.Session(place.target) as session:
        results = [session.run(run), session.run(y)]
    return type(run).__name__, results, calls


@in_process
def python_functions_with_results_that_are_no_tensors(place: Place) -> Any:
    tf = place.tf
    with place.session() as session:
        return [
            raised(lambda made=made: session.run(tf.py_func(lambda: made, [], tf.float32)))
            for made in (None, [[1.0], [2.0, 3.0]])
        ]


@program
def not_fetchable_any_longer(place: Place) -> Any:
    tf = place.tf
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session(place.target) as session:
        results = [session.run(y, {x: 1.0})]
        graph.prevent_feeding(x)
        kinds = [raised(lambda: session.run(y, {x: 1.0}))]
        z = tf.constant(3.0) * 2.0
        results.append(session.run(z))
        graph.prevent_fetching(z.op)
        try:
            session.run(z)
        except ValueError:
            kinds.append("refused")
    return results, kinds


@program
def colocated_and_gradient_overrides(place: Place) -> Any:
    tf = place.tf
    v = tf.Variable([1.0, -2.0])
    with tf.colocate_with(v):
        y = tf.stop_gradient(v) * v
    with tf.get_default_graph().gradient_override_map({"Identity": "Identity"}):
        z = tf.identity(v) * 3.0
    return place.run(tf.gradients([y, z], v))


@program
def collections_and_their_scopes(place: Place) -> Any:
    tf = place.tf
    with tf.variable_scope("a"):
        tf.get_variable("w", [], regularizer=lambda w: tf.square(w))
    tf.Variable(1, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="l")
    tf.add_to_collections(["x", "y"], 3)
    names = [v.name for v in tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, "a")]
    keys = sorted(tf.get_default_graph().get_all_collection_keys())
    return names, keys, [v.name for v in tf.local_variables()], tf.get_collection("x")
