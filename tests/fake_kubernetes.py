"""The API server of the simulated fleet, under the names by which these tests call it."""

from goodput.synth.api_server import ApiServer as Server
from goodput.synth.api_server import Cluster as FakeKubernetes
from goodput.synth.api_server import Fault, Served, status

__all__ = ["FakeKubernetes", "Fault", "Served", "Server", "status"]
