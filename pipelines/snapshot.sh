#!/bin/sh
# Dumps what goodput reads of a cluster, one JSON file a kind: pipelines/snapshot.sh FOLDER
#
# Only lists; it needs get and list on these kinds (pipelines/k8s/base/rbac.yaml grants just that).
# A kind that this cluster does not have, or that may not be read, is named and left out.
set -eu

folder=${1:?usage: snapshot.sh FOLDER}
mkdir -p "$folder"
taken=0
for kind in \
    nodes \
    pods \
    events \
    events.events.k8s.io \
    jobs.batch \
    jobs.batch.volcano.sh \
    jobsets.jobset.x-k8s.io \
    leaderworkersets.leaderworkerset.x-k8s.io \
    mpijobs.kubeflow.org \
    nodeclaims.karpenter.sh \
    pytorchjobs.kubeflow.org \
    rayjobs.ray.io \
    resourceclaims.resource.k8s.io \
    resourceslices.resource.k8s.io \
    trainjobs.trainer.kubeflow.org \
    workloads.kueue.x-k8s.io; do
    # Kept only when whole: a list cut off by a lost connection would look like vanished pods.
    if kubectl get "$kind" --all-namespaces --output json >"$folder/.part"; then
        mv "$folder/.part" "$folder/$kind.json"
        taken=$((taken + 1))
    else
        rm -f "$folder/.part"
        echo "left out: $kind" >&2
    fi
done
if [ "$taken" -eq 0 ]; then
    echo "nothing could be read; is kubectl pointed at the cluster?" >&2
    exit 5
fi
