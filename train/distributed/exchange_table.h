#pragma once

#include <octet/core/profile.h>
#include <octet/train/distributed/process_group.h>

#include <string>

namespace octet {

/// A table with a line for each rank: host, microseconds per step, those spent on exchange with the
/// others, waiting included, the share of the step that is left (efficiency), and bytes sent and
/// received per step. `profile` is that of this rank's trainer (TrainerOptions::profile), `traffic`
/// its Trainer::step_traffic(). All ranks call it; the table is rank 0's, others get "".
std::string exchange_table(ProcessGroup& group, const Profile& profile,
                           const ProcessGroup::Traffic& traffic);

}  // namespace octet
