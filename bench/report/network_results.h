#pragma once

#include <octet/bench/report/results.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

// What scripts/bench_networks.sh measures, as the tables and the plot read it.

namespace octet::bench {

/// A network and a batch size.
using NetworkBatch = std::pair<std::string, int>;

/// The networks and batch sizes in lines of this kind ("steps", "invokes"), in the order in which
/// they first occur.
std::vector<NetworkBatch> network_batches(const Results& results, const char* what);

/// Processor seconds of the quickest step, round by round, on one thread.
Rounds quickest_step(const Results& results, const NetworkBatch& of, const char* who,
                     const char* mode, const char* isa = "auto");

/// Processor seconds of the quickest step of the quicker of both peers, round by round.
Rounds quickest_peer(const Results& results, const NetworkBatch& of, const char* mode);

/// The middle of a / b over rounds.
std::optional<double> middle_ratio(const Rounds& a, const Rounds& b);

}  // namespace octet::bench
