#pragma once

#include <octet/frontend/log_mel.h>
#include <octet/train/data/augmentation.h>

namespace octet {

/// Whether noise, speed or time_shift is among the changes: what happens to a signal before a front
/// end makes features of it.
bool changes_signals(const Augmentation& augmentation);

/// Returns a function for TrainerOptions::augment with augments_signals: it changes the samples of
/// signals by speed, time_shift and noise, in samples and in the signal's own unit, with 0 where
/// nothing is there; makes features [frames, channels] of them, byte / 255; and changes those by
/// masks and mixup. Throws as augment(); the function throws InvalidArgument, too, for what are no
/// signals of the front end's axes.
///
///     const DataSplit data = load_data("sounds", {.front_end = "log-mel", .keep_signals = true});
///     const LogMel front_end = LogMel::parse(data.train.front_end());
///     Trainer trainer(model, Adam(1e-3F), {.augment = augment_signals({.noise = 0.01F},
///     front_end),
///                                          .augments_signals = true});
Augment augment_signals(const Augmentation& augmentation, const LogMel& front_end, int classes = 0);

}  // namespace octet
