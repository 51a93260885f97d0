"""Rendered objects over many values: by the schemas of each Kubernetes, and what changes with what."""

from __future__ import annotations

import copy
import functools
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="needs PyYAML: `./run test` installs it")
kubernetes_validate = pytest.importorskip(
    "kubernetes_validate", reason="needs kubernetes-validate: `./run test` installs it"
)

Object = dict[str, Any]
Render = Callable[..., list[Object]]
OLDEST = (1, 29)
# Of operators, and therefore not in Kubernetes' schemas.
OPERATORS = {"Certificate", "PodMonitor", "ServiceMonitor", "PrometheusRule", "PodGroup"}

# A value for each key that every role takes, another one than the default.
ROLE: Object = {
    "resources": {"limits": {"cpu": "2", "memory": "2Gi"}},
    "extraEnv": [{"name": "A", "value": "{{ .Release.Name }}"}],
    "extraEnvFrom": [{"secretRef": {"name": "keys"}}],
    "extraVolumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    "extraVolumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    "initContainers": [{"name": "before", "image": "busybox"}],
    "sidecars": [{"name": "beside", "image": "busybox"}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
            ]
        }
    },
    "tolerations": [{"key": "spot", "operator": "Exists"}],
    "nodeSelector": {"disk": "ssd"},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "priorityClassName": "high",
    "schedulerName": "volcano",
    "runtimeClassName": "gvisor",
    "labels": {"on": "set"},
    "annotations": {"of": "set"},
    "podLabels": {"on": "pod"},
    "podAnnotations": {"of": "pod"},
    "podSecurityContext": {"runAsUser": 10002},
    "securityContext": {"readOnlyRootFilesystem": False},
    "terminationGracePeriodSeconds": 60,
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "1"]}}},
    "hostNetwork": True,
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["10.0.0.2"]},
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["data"]}],
    "resourceClaims": [{"name": "nic"}],
    "serviceAccount": {"create": True, "annotations": {"cloud": "role"}},
}
TASK: Object = {
    "drainSeconds": 2.5,
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 1, "maxUnavailable": "50%"}},
    "command": ["/opt/wrapper", "tensorfleet"],
    "extraArgs": ["--log-level=debug"],
    "minReadySeconds": 7,
    "revisionHistoryLimit": 3,
    "startupProbe": {"periodSeconds": 9},
    "readinessProbe": {"timeoutSeconds": 9},
    "livenessProbe": {"enabled": False},
    "podDisruptionBudget": {"minAvailable": "50%"},
    "persistence": {"enabled": True, "storageClass": "fast", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "gpu": {"enabled": True, "count": 2},
    "image": {"tag": "cuda", "pullSecrets": ["mine"]},
}
POOLS: list[Object] = [
    {"name": "gpu", "replicas": 2, "gpu": {"enabled": True, "count": 1}, "runtimeClassName": "nvidia"},
    {"name": "spot-cpu", "jobName": "spot", "replicas": 1, "slots": 3},
]
EVERY_ROLE: Object = {"chief": {"enabled": True}, "evaluator": {"enabled": True}, "workerPools": POOLS}
JOB: Object = {
    "enabled": True,
    "script": "print(1)\n",
    "args": ["--x"],
    "activeDeadlineSeconds": 9,
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
    },
}
MATRIX: dict[str, Object] = {
    "as it is": {},
    "least": {
        "ps": {"replicas": 0},
        "worker": {"replicas": 1},
        "networkPolicy": {"enabled": False},
        "serviceAccount": {"create": False},
        "check": {"enabled": False},
        "defaults": {"podDisruptionBudget": {"enabled": False}, "startupProbe": {"enabled": False}},
    },
    "every role": EVERY_ROLE,
    "every key of every role": {
        **EVERY_ROLE,
        "defaults": {**ROLE, **TASK},
        "client": {**ROLE, "image": TASK["image"], "deployment": {"enabled": True}, "job": JOB},
        "check": ROLE,
        "commonLabels": {"on": "all"},
        "commonAnnotations": {"of": "all"},
    },
    "autoscaled": {
        "worker": {
            "slots": 9,
            "autoscaling": {
                "enabled": True,
                "maxReplicas": 9,
                "targetMemoryUtilizationPercentage": 50,
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
            },
        }
    },
    "clients": {"client": {"deployment": {"enabled": True}, "job": JOB}},
    "a Job's own ConfigMap": {"client": {"job": {"enabled": True, "existingConfigMap": "x"}}},
    "watched by pods": {
        "metrics": {
            "scrapeAnnotations": True,
            "podMonitor": {"enabled": True, "interval": "5s", "relabelings": [{"action": "labeldrop"}]},
            "dashboard": {"enabled": True, "annotations": {"folder": "ML"}},
            "rules": {"enabled": True},
        }
    },
    "watched by Services": {"metrics": {"serviceMonitor": {"enabled": True}}},
    "one claim, deleted": {
        "ps": {"persistence": {"retentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}}},
        "worker": {"persistence": {"enabled": True, "existingClaim": "shared"}},
    },
    "shut in": {
        "networkPolicy": {
            "restrictEgress": True,
            "clientNamespaceSelector": {"matchLabels": {"team": "ml"}},
            "extraIngress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
            "extraEgress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        }
    },
    "Kueue and coscheduling": {
        "kueue": {"queueName": "q", "priorityClass": "p"},
        "gang": {"kind": "coscheduling"},
        "client": {"job": JOB},
    },
    "a cluster secret": {"security": {"mode": "secret"}},
    "insecure": {"security": {"enabled": False}},
    "credentials of others": {
        "security": {"existingSecrets": {"tasks": "t", "tokens": "u", "client": "v"}},
        "client": {"deployment": {"enabled": True}},
    },
    "cert-manager": {"security": {"issuerRef": {"name": "i"}}, "client": {"deployment": {"enabled": True}}},
    "tokens of Kubernetes, metrics by HTTPS": {
        "security": {"tokenReview": {"enabled": True, "groups": {"system:serviceaccounts:ml": "run"}}},
        "metrics": {"tls": {"enabled": True}, "access": "token", "serviceMonitor": {"enabled": True}},
    },
    "a template that stays": {"clusterSpec": {"restartOnChange": False}},
    "Volcano": {"gang": {"kind": "volcano", "queue": "q"}},
    "other names": {
        "fullnameOverride": "f",
        "nameOverride": "n",
        "clusterDomain": "corp.example",
        "global": {"imageRegistry": "r.example", "imagePullSecrets": ["s"]},
        "image": {"digest": "sha256:" + "a" * 64, "pullSecrets": ["t"]},
        "service": {
            "type": "LoadBalancer",
            "annotations": {"a": "b"},
            "labels": {"c": "d"},
            "nodePorts": {"grpc": 30222, "stream": 30223},
            "externalTrafficPolicy": "Local",
            "loadBalancerSourceRanges": ["10.0.0.0/8"],
            "loadBalancerClass": "example.com/internal",
        },
        "extraDeploy": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-x"}}
        ],
    },
}


def versions() -> list[str]:
    """Every Kubernetes from the oldest that the chart takes to the newest whose schemas there are."""
    known = {tuple(map(int, v.split(".")[:2])) for v in kubernetes_validate.utils.all_versions()}
    return [f"{major}.{minor}" for major, minor in sorted(known) if (major, minor) >= OLDEST]


@pytest.fixture(scope="module", autouse=True)
def _schemas_are_read_once() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        read = functools.cache(kubernetes_validate.utils.schema_contents)
        patch.setattr(kubernetes_validate.utils, "schema_contents", read)
        yield


@functools.cache
def validate(text: str) -> None:
    """Fails if an object, as JSON, is not right for a Kubernetes. The same one is looked at once."""
    thing = json.loads(text)
    for version in versions():
        assert kubernetes_validate.validate(thing, version, strict=True) == version, name(thing)


def name(thing: Object) -> str:
    return f"{thing['kind']}/{thing['metadata']['name']}"


def by_name(things: list[Object]) -> dict[str, Object]:
    return {name(thing): thing for thing in things}


def merged(*parts: Object) -> Object:
    """Maps merged into one, as the chart merges a role's values with `defaults`."""
    result: Object = {}
    for part in parts:
        for key, value in part.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def test_versions_are_those_that_the_chart_takes() -> None:
    assert versions()[0] == "1.29"
    assert len(versions()) >= 9


@pytest.mark.parametrize("case", MATRIX)
def test_schemas_of_kubernetes(render: Render, case: str) -> None:
    things = render(MATRIX[case])
    assert things
    for thing in things:
        if thing["kind"] in OPERATORS:
            continue
        validate(json.dumps(thing, sort_keys=True))


@pytest.mark.parametrize("case", MATRIX)
def test_helm_3_renders_the_same(render: Render, helm3: str, case: str) -> None:
    assert by_name(render(MATRIX[case], helm3)) == by_name(render(MATRIX[case]))


@pytest.mark.parametrize("case", MATRIX)
def test_names_are_unique_and_everything_is_labelled(render: Render, case: str) -> None:
    things = render(MATRIX[case])
    assert len({name(thing) for thing in things}) == len(things)
    for thing in things:
        if not thing["metadata"]["name"].endswith("-x"):  # extraDeploy's own
            in_namespace = thing["metadata"].get("namespace") == "ml"
            assert in_namespace is not thing["kind"].startswith("Cluster"), name(thing)
            labels = thing["metadata"]["labels"]
            assert labels["app.kubernetes.io/instance"] == "fleet", name(thing)
            assert labels["app.kubernetes.io/managed-by"] == "Helm", name(thing)


@pytest.mark.parametrize("case", MATRIX)
def test_kubeconform(
    tools: dict[str, str], template: Callable[..., subprocess.CompletedProcess[str]], case: str
) -> None:
    program, schemas = shutil.which("kubeconform", path=tools.get("PATH")), tools.get("KUBE_SCHEMAS")
    if program is None or not schemas:
        pytest.skip("needs kubeconform on PATH, and KUBE_SCHEMAS, its -schema-location")
    text = template(MATRIX[case]).stdout
    done = subprocess.run(
        [
            program,
            "-strict",
            "-summary",
            "-output=json",
            "-schema-location",
            schemas,
            "-skip",
            ",".join(OPERATORS),
        ],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    summary = json.loads(done.stdout)["summary"]
    assert done.returncode == 0, done.stdout
    assert summary["valid"] > 0


@pytest.mark.parametrize("case", MATRIX)
def test_every_address_has_a_pod_and_a_port(render: Render, case: str) -> None:
    """The ClusterSpec's addresses are names that StatefulSets and headless Services really give."""
    things = by_name(render(MATRIX[case]))
    spec = next(thing for key, thing in things.items() if key.endswith("-cluster-spec"))
    sets = {t["metadata"]["name"]: t for t in things.values() if t["kind"] == "StatefulSet"}
    for job, addresses in json.loads(spec["data"]["cluster.json"]).items():
        for index, address in enumerate(addresses):
            host, _, port = address.rpartition(":")
            pod, service, namespace, _ = host.split(".", 3)
            owner = sets[pod.removesuffix(f"-{index}")]
            assert (port, namespace, service) == ("2222", "ml", owner["spec"]["serviceName"])
            container = owner["spec"]["template"]["spec"]["containers"][0]
            assert {"name": "TENSORFLEET_JOB_NAME", "value": job} in container["env"]
            labels = owner["spec"]["template"]["metadata"]["labels"]
            assert things[f"Service/{service}"]["spec"]["selector"].items() <= labels.items()
        if "replicas" in owner["spec"]:
            assert owner["spec"]["replicas"] <= len(addresses)


@pytest.mark.parametrize("key", [*ROLE, *TASK])
def test_a_role_alone_takes_each_key(render: Render, key: str) -> None:
    before = by_name(render())
    after = by_name(render({"worker": {key: {**ROLE, **TASK}[key]}}))
    changed = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
    assert changed
    assert {n.rpartition("/")[2] for n in changed} == {"fleet-tensorfleet-worker"}


@pytest.mark.parametrize("role", ["ps", "worker", "chief", "evaluator"])
def test_a_role_takes_all_that_defaults_give(render: Render, role: str) -> None:
    values = {**ROLE, **{key: TASK[key] for key in TASK if role != "ps" or key != "gpu"}}
    # Where `ps` differs from the defaults, it has to be told so itself.
    differs = {
        "updateStrategy": TASK["updateStrategy"],
        "podDisruptionBudget": {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
    }
    base = merged(EVERY_ROLE, {"ps": differs})
    by_default = by_name(render(merged(base, {"defaults": values})))
    by_role = by_name(render(merged(base, {role: values})))
    own = f"StatefulSet/fleet-tensorfleet-{role}"
    assert by_role[own] == by_default[own]


def test_a_pool_takes_all_that_defaults_give(render: Render) -> None:
    pool = {"name": "p", "replicas": 1}
    own = "StatefulSet/fleet-tensorfleet-p"
    by_default = by_name(render({"defaults": {**ROLE, **TASK}, "workerPools": [pool]}))
    by_role = by_name(render({"workerPools": [{**pool, **ROLE, **TASK}]}))
    assert by_role[own] == by_default[own]


def test_another_worker_restarts_workers_and_leaves_claims_and_selectors(render: Render) -> None:
    before, after = by_name(render()), by_name(render({"worker": {"replicas": 3}}))
    for role, strategy in (("ps", "OnDelete"), ("worker", "RollingUpdate")):
        old, new = (things[f"StatefulSet/fleet-tensorfleet-{role}"]["spec"] for things in (before, after))
        assert old["template"] != new["template"]
        assert new["updateStrategy"]["type"] == strategy
        # Kubernetes would refuse a change of these.
        for key in ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"):
            assert old.get(key) == new.get(key)


def test_another_worker_with_an_address_changes_one_number(render: Render) -> None:
    before = by_name(render({"worker": {"replicas": 2, "slots": 8}}))
    after = by_name(render({"worker": {"replicas": 5, "slots": 8}}))
    before["StatefulSet/fleet-tensorfleet-worker"]["spec"]["replicas"] = 5
    # And the check, which knows who is there.
    del before["Pod/fleet-tensorfleet-check"], after["Pod/fleet-tensorfleet-check"]
    assert before == after


def test_a_version_of_the_chart_restarts_nothing(render: Render) -> None:
    """Labels of versions are not in pods, nor in what cannot be changed."""
    for thing in render(MATRIX["every role"]):
        if thing["kind"] == "StatefulSet":
            text = yaml.safe_dump(thing["spec"])
            assert "helm.sh/chart" not in text
            assert "app.kubernetes.io/version" not in text


def test_another_program_is_another_job(render: Render) -> None:
    def jobs(script: str) -> set[str]:
        things = render({"client": {"job": {"enabled": True, "script": script}}})
        return {thing["metadata"]["name"] for thing in things if thing["kind"] == "Job"}

    assert jobs("print(1)") == jobs("print(1)")
    assert jobs("print(1)") != jobs("print(2)")


def test_every_pod_is_hardened(render: Render) -> None:
    things = render({**EVERY_ROLE, "client": {"deployment": {"enabled": True}, "job": JOB}})
    pods = [t["spec"] if t["kind"] == "Pod" else t["spec"]["template"]["spec"] for t in things if runs(t)]
    assert len(pods) == 10
    with_token = [pod for pod in pods if pod["automountServiceAccountToken"]]
    assert [pod["serviceAccountName"] for pod in with_token] == ["fleet-tensorfleet-credentials"]
    for pod in pods:
        assert pod["enableServiceLinks"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


def runs(thing: Object) -> bool:
    return thing["kind"] in ("StatefulSet", "Deployment", "Job", "Pod")


def test_an_older_kubernetes_is_refused(helm: str, chart: Path) -> None:
    done = subprocess.run(
        [helm, "template", "fleet", str(chart), "--kube-version", "1.28.9"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert ">=1.29" in done.stderr
