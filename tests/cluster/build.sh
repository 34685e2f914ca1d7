#!/bin/sh
# Builds kube-apiserver and kube-controller-manager from the source package of Debian (bookworm has
# 1.20.2, the newest that Debian has as a whole) into a folder. Debian's own packages only; as root;
# 5 to 12 minutes.
#
# usage: build.sh FOLDER
set -eu

out=$(realpath -m "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/sources" "$work/lists/partial" "$work/cache/archives/partial"

# Source packages of the suites that this machine uses anyway, without changing its own settings.
sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$work/sources/src.sources"
apt="apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$work/sources
    -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache -o APT::Sandbox::User=root"
$apt update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
    dpkg-dev etcd-server golang-github-modern-go-reflect2-dev golang-go jq make openssl rsync >/dev/null
(cd "$work" && $apt source kubernetes >/dev/null)
cd "$work"/kubernetes-*/

# The reflect2 that the source brings crashes when built with Go 1.18 or newer; Debian's does not.
reflect2=vendor/github.com/modern-go/reflect2
rm -f $reflect2/go_above_17.go $reflect2/go_below_17.go
cp /usr/share/gocode/src/github.com/modern-go/reflect2/*.go \
    /usr/share/gocode/src/github.com/modern-go/reflect2/*.s $reflect2/

mkdir -p .go/src/k8s.io "$work/home"
ln -sfn ../../.. .go/src/k8s.io/kubernetes
HOME=$work/home GOCACHE=$work/gocache GOPATH=$PWD/.go GOPROXY=off GOFLAGS=-mod=vendor CGO_ENABLED=0 \
    make WHAT="cmd/kube-apiserver cmd/kube-controller-manager" >"$out/build.log" 2>&1 ||
    { tail -n 20 "$out/build.log" >&2; exit 1; }
cp _output/local/bin/linux/*/kube-apiserver _output/local/bin/linux/*/kube-controller-manager "$out/"
"$out/kube-apiserver" --version
