"""A simulated GPU fleet: injected faults, the files a cluster would leave, the true ledger."""
