# Sourced by the scripts here: which Kubernetes there is, and what all of them do with it.
#
# TENSORFLEET_K8S_LAB=DIR   a single-node Kubernetes without Docker and without a registry: DIR has setup.sh, lab.sh
#                           and image.sh
# otherwise                 kind, where there are Docker and kind
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
IMAGE_NAME=localhost/tensorfleet
IMAGE_TAG=${TENSORFLEET_K8S_TAG:-dev}
IMAGE=$IMAGE_NAME:$IMAGE_TAG
KIND_CLUSTER=${TENSORFLEET_KIND_CLUSTER:-tensorfleet}
LAB=${TENSORFLEET_K8S_LAB:-}

say() { echo "$(basename "$0"): $*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Prints `lab` or `kind`; fails, and says what is missing, where there is neither.
kind_of_cluster() {
  if [ -n "$LAB" ]; then
    [ -x "$LAB/lab.sh" ] || die "TENSORFLEET_K8S_LAB is $LAB, which has no lab.sh: set it to the lab's directory"
    echo lab
  elif have docker && docker info >/dev/null 2>&1; then
    for program in kind kubectl helm; do have $program || die "there is Docker, but no $program: install it"; done
    echo kind
  else
    die "no Kubernetes here: start Docker, with kind, kubectl and helm on PATH, or set TENSORFLEET_K8S_LAB"
  fi
}

is_up() {
  case $1 in
    lab) "$LAB/lab.sh" status >/dev/null 2>&1 ;;
    kind) kind get clusters 2>/dev/null | grep -qx "$KIND_CLUSTER" ;;
  esac
}

# Starts the cluster, and lets kubectl and helm of this shell reach it.
start_cluster() {
  case $1 in
    lab)
      "$LAB/setup.sh" >&2
      is_up lab || "$LAB/lab.sh" up >&2
      eval "$("$LAB/lab.sh" env)" ;;
    kind)
      is_up kind || kind create cluster --name "$KIND_CLUSTER" --config "$ROOT/k8s-dev/kind.yaml" --wait 120s >&2
      KUBECONFIG=$(mktemp) && export KUBECONFIG
      kind get kubeconfig --name "$KIND_CLUSTER" >"$KUBECONFIG" ;;
  esac
}

stop_cluster() {
  case $1 in
    lab) "$LAB/lab.sh" down >&2 ;;
    kind) kind delete cluster --name "$KIND_CLUSTER" >&2 ;;
  esac
}

# Builds the image and loads it into the cluster.
load_image() {
  case $1 in
    lab) "$LAB/image.sh" "$ROOT" "$IMAGE" >&2 ;;
    kind)
      docker build -q -t "$IMAGE" "$ROOT" >&2
      kind load docker-image --name "$KIND_CLUSTER" "$IMAGE" >&2 ;;
  esac
}

# Removes the image from the cluster, from what the cluster would load at its next start, and from where it was built.
drop_image() {
  case $1 in
    lab)
      (
        . "$LAB/env.sh"
        "$LAB/lab.sh" sh ctr -a "$SOCK" -n k8s.io images rm "$IMAGE" >/dev/null 2>&1 || true
        rm -f "$LAB_DIR/images/$(tr '/:' '__' <<<"$IMAGE").tar"
        podman rmi --force "$IMAGE" >/dev/null 2>&1 || true
        podman image prune --force >/dev/null 2>&1 || true
      ) ;;
    kind)
      docker exec "$KIND_CLUSTER-control-plane" crictl rmi "$IMAGE" >/dev/null 2>&1 || true
      docker rmi "$IMAGE" >/dev/null 2>&1 || true ;;
  esac
}
