#include <fmt/core.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/json_text.h>
#include <octet/core/log.h>
#include <octet/layers/architecture.h>
#include <octet/train/checkpoint.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/distributed/sharded_step.h>
#include <octet/train/load_model.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

// Checkpoints: what a Trainer has to save to go on as if it had never stopped.

namespace octet {
namespace {

using nlohmann::json;

constexpr const char* kKind = "octet checkpoint 2";
/// The first format: its model is a list of layers, and its quantizers do not say whether they are
/// frozen.
constexpr const char* kFirstKind = "octet checkpoint 1";
/// The entries of "trainer" that are there only where a run has made use of them.
constexpr const char* kAccumulate = "accumulate_batches";
constexpr const char* kFrozen = "frozen";
constexpr const char* kHasClasses = "has_classes";
constexpr const char* kShards = "shards";
constexpr const char* kGradients = "gradients";
/// Behind it the number of a shard.
constexpr const char* kErrorsPrefix = "gradient_errors/";
const std::string kModelPrefix = "model";
/// Where the running means of an epoch hold their time.
constexpr std::size_t kSecondsOfSums = 3;

std::vector<NamedTensor> prefixed(const std::string& prefix, std::vector<NamedTensor> tensors) {
  for (auto& [name, tensor] : tensors) name.insert(0, prefix + "/");
  return tensors;
}

/// The prefix of the tensors of callback number `i`, among the callbacks with state.
std::string callback_prefix(std::size_t i) { return fmt::format("callback{}", i); }

/// The tensors whose names begin with `prefix` and a slash, without it.
std::vector<NamedTensor> without_prefix(const Archive& archive, const std::string& prefix) {
  const std::string start = prefix + "/";
  std::vector<NamedTensor> result;
  const auto& all = archive.tensors();
  for (auto at = all.lower_bound(start); at != all.end(); ++at) {
    if (!at->first.starts_with(start)) break;
    result.push_back({at->first.substr(start.size()), at->second});
  }
  return result;
}

/// The names of the parameters that are not trained.
std::vector<std::string> frozen_parameters(const Model& model) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : model.parameters()) {
    if (!tensor.requires_grad()) names.push_back(name);
  }
  return names;
}

/// Throws FormatError for an archive that is no checkpoint of this format.
void check_kind(const Archive& archive) {
  if (!archive.has_text("kind")) {
    throw FormatError(
        "checkpoint: expected a file of Trainer::save_checkpoint(), found one without its kind; a "
        "file of Model::save() is read by Model::load() or load_model()");
  }
  const std::string kind = archive.text("kind");
  if (kind == kFirstKind) {
    throw FormatError(fmt::format(
        "checkpoint: expected kind \"{}\", found \"{}\", which Octet wrote before models were "
        "graphs "
        "and no longer reads; start the run anew, or finish it with the build that began it",
        kKind, kind));
  }
  if (kind != kKind) {
    throw FormatError(fmt::format("checkpoint: expected kind \"{}\", found \"{}\"", kKind, kind));
  }
}

}  // namespace

CheckpointFile read_checkpoint(const std::filesystem::path& path) {
  std::string cause;
  try {
    return {Archive::read(path), path};
  } catch (const Error& error) {
    const std::filesystem::path previous = previous_file(path);
    std::error_code ignored;
    if (!std::filesystem::exists(previous, ignored)) throw;
    cause = error.what();
  }
  const std::filesystem::path previous = previous_file(path);
  try {
    CheckpointFile found{Archive::read(previous), previous};
    log_warn(
        fmt::format("{}; going on from the checkpoint before it, '{}'", cause, previous.string()));
    return found;
  } catch (const Error& error) {
    throw FormatError(
        fmt::format("{}; nor can the checkpoint before it be read: {}", cause, error.what()));
  }
}

CheckpointFile read_checkpoint(const std::filesystem::path& path, ProcessGroup& group) {
  if (group.size() == 1) return read_checkpoint(path);
  CheckpointFile file;
  if (group.is_root()) file = read_checkpoint(path);
  const std::string found = broadcast_text(group, file.path.string());
  const auto bytes = broadcast_bytes(
      group, group.is_root() ? file.archive.to_bytes() : std::vector<std::uint8_t>());
  if (group.is_root()) return file;
  return {Archive::from_bytes(bytes, found), found};
}

Archive without_times(const Archive& checkpoint, const std::vector<std::string>& history_notes) {
  const auto timeless = [](const std::string& history) {
    return history_json(without_times(parse_history(history)));
  };
  Archive result = checkpoint;
  for (const char* entry : {"history", "calibrated"}) {
    result.add_text(entry, timeless(checkpoint.text(entry)));
  }
  auto notes = Trainer::notes_of(checkpoint);
  for (const std::string& note : history_notes) {
    if (const auto found = notes.find(note); found != notes.end()) {
      found->second = timeless(found->second);
    }
  }
  result.add_text("notes", json(notes).dump());
  try {
    json trainer = *detail::ParsedJson(checkpoint.text("trainer"));
    trainer.at("sums").at(kSecondsOfSums) = 0.0;
    result.add_text("trainer", trainer.dump());
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("checkpoint: {}", detail::fault_text(error)));
  }
  return result;
}

namespace {

/// What `read` makes of the checkpoint at a path; what is wrong with it is said with the file's
/// name.
template <class Read>
auto from_file(const std::filesystem::path& path, ProcessGroup& group, Read&& read) {
  const CheckpointFile file = read_checkpoint(path, group);
  try {
    return read(file.archive);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", file.path.string(), error.what()));
  }
}

}  // namespace

Model load_model(const std::filesystem::path& path) {
  return load_model(path, group_or_alone(nullptr));
}

Model load_model(const std::filesystem::path& path, ProcessGroup& group) {
  return from_file(path, group, [](const Archive& archive) {
    if (!archive.has_text("kind")) return model_from_archive(archive, "");
    check_kind(archive);
    return model_from_archive(archive, kModelPrefix + "/");
  });
}

std::vector<NamedTensor> Trainer::errors_of_all_shards() const {
  // The errors of a rank's shards, end to end.
  std::vector<std::uint8_t> own;
  for (const std::vector<float>& each : gradient_errors_) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(each.data());
    own.insert(own.end(), bytes, bytes + sizeof(float) * each.size());
  }
  std::vector<NamedTensor> result;
  if (options_.gradients == GradientFormat::float32) return result;
  const std::size_t elements = detail::gradient_elements(*model_);
  for (const auto& bytes : gather_bytes_on_root(group_or_alone(options_.group), own)) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(float) * elements) {
      Tensor errors(Shape{static_cast<Index>(elements)});
      std::memcpy(errors.mutable_data(), bytes.data() + at, sizeof(float) * elements);
      result.push_back({fmt::format("{}{}", kErrorsPrefix, result.size()), errors});
    }
  }
  return result;
}

detail::GradientErrors Trainer::own_errors(const Archive& checkpoint) const {
  detail::GradientErrors result;
  if (!checkpoint.has(fmt::format("{}0", kErrorsPrefix))) return result;
  const Shape shape = {static_cast<Index>(detail::gradient_elements(*model_))};
  const IndexRange own = detail::ShardTree(options_.shards, group_or_alone(options_.group)).own();
  for (std::size_t k = own.begin; k < own.end; ++k) {
    const std::string name = fmt::format("{}{}", kErrorsPrefix, k);
    checkpoint.check_shape(name, shape);
    const std::span<const float> values = checkpoint.tensor(name).span();
    result.emplace_back(values.begin(), values.end());
  }
  return result;
}

std::vector<std::shared_ptr<Callback>> Trainer::callbacks_with_state() const {
  std::vector<std::shared_ptr<Callback>> result;
  std::ranges::copy_if(callbacks_, std::back_inserter(result),
                       [](const auto& callback) { return !callback->state().empty(); });
  return result;
}

void Trainer::save_checkpoint(const std::filesystem::path& path,
                              const std::map<std::string, std::string>& notes) const {
  const std::vector<NamedTensor> errors = errors_of_all_shards();
  if (!is_root()) return;
  Archive archive;
  for (const auto& [name, tensor] : errors) archive.add(name, tensor);
  for (const auto& [name, tensor] : prefixed(kModelPrefix, model_->saved_tensors())) {
    archive.add(name, tensor);
  }
  for (const auto& [name, tensor] : prefixed("optimizer", optimizer().state())) {
    archive.add(name, tensor);
  }
  const auto callbacks = callbacks_with_state();
  for (std::size_t i = 0; i < callbacks.size(); ++i) {
    for (const auto& [name, tensor] : prefixed(callback_prefix(i), callbacks[i]->state())) {
      archive.add(name, tensor);
    }
  }
  json trainer = {{"phase", phase_},
                  {"optimizer", optimizer().type()},
                  {"epoch", position_.epoch},
                  {"batch", position_.batch},
                  {"step", step_},
                  {"seed", options_.seed},
                  {"batch_size", options_.batch_size},
                  {"sums", {sums_.loss, sums_.right, sums_.images, sums_.seconds}}};
  if (options_.accumulate_batches != 1) trainer[kAccumulate] = options_.accumulate_batches;
  if (options_.shards != 1) trainer[kShards] = options_.shards;
  if (options_.gradients != GradientFormat::float32) {
    trainer[kGradients] = to_string(options_.gradients);
  }
  if (const auto frozen = frozen_parameters(*model_); !frozen.empty()) trainer[kFrozen] = frozen;
  if (sums_.images > 0.0 && !has_classes_) trainer[kHasClasses] = false;
  archive.add_text("kind", kKind);
  archive.add_text("trainer", trainer.dump());
  archive.add_text("history", history_json(history_));
  archive.add_text("calibrated", history_json(calibrated_ ? History{*calibrated_} : History{}));
  archive.add_text("notes", detail::json_text(json(notes), "checkpoint: notes"));
  add_architecture_or_reason(archive, *model_);
  write_file_keeping_previous(path, archive.to_bytes());
}

std::map<std::string, std::string> Trainer::load_checkpoint(const std::filesystem::path& path) {
  return from_file(path, group_or_alone(options_.group),
                   [this](const Archive& archive) { return restore(archive); });
}

std::map<std::string, std::string> Trainer::notes_of(const Archive& archive) {
  check_kind(archive);
  try {
    return detail::ParsedJson(archive.text("notes"))->get<std::map<std::string, std::string>>();
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("checkpoint: {}", detail::fault_text(error)));
  }
}

std::map<std::string, std::string> Trainer::restore(const Archive& archive) {
  static_cast<void>(optimizer());
  auto notes = notes_of(archive);
  try {
    const detail::ParsedJson parsed(archive.text("trainer"));
    const json& trainer = *parsed;
    const auto must_be = [&](const char* key, const json& expected) {
      if (trainer.at(key) != expected) {
        throw FormatError(fmt::format("checkpoint: expected {} {}, found {}", key, expected.dump(),
                                      trainer.at(key).dump()));
      }
    };
    must_be("phase", phase_);
    must_be("optimizer", optimizer().type());
    must_be("seed", options_.seed);
    must_be("batch_size", options_.batch_size);
    const auto must_agree = [&](const char* key, const json& expected, const json& where_absent) {
      const json found = trainer.value(key, where_absent);
      if (found == expected) return;
      throw FormatError(
          fmt::format("checkpoint: expected {} {}, found {}", key, expected.dump(), found.dump()));
    };
    must_agree(kAccumulate, options_.accumulate_batches, 1);
    must_agree(kShards, options_.shards, 1);
    must_agree(kGradients, to_string(options_.gradients), to_string(GradientFormat::float32));
    must_agree(kFrozen, frozen_parameters(*model_), json::array());
    History history = parse_history(archive.text("history"));
    History calibrated = parse_history(archive.text("calibrated"));
    const auto sums = trainer.at("sums").get<std::array<double, 4>>();
    const bool has_classes = trainer.value(kHasClasses, true);
    const LoaderPosition position{detail::whole_number<Index>(trainer.at("epoch")),
                                  detail::whole_number<Index>(trainer.at("batch"))};
    const auto step = detail::whole_number<std::uint64_t>(trainer.at("step"));
    if (position.epoch < 0 || position.batch < 0) {
      throw FormatError(fmt::format("checkpoint: expected a position, found epoch {}, batch {}",
                                    position.epoch, position.batch));
    }

    // All that can fail comes before anything is changed.
    auto targets = prefixed(kModelPrefix, model_->saved_tensors());
    const auto moments = prefixed("optimizer", optimizer().state());
    targets.insert(targets.end(), moments.begin(), moments.end());
    for (const auto& [name, tensor] : targets) archive.check_shape(name, tensor.shape());
    check_architecture(archive, *model_);
    detail::GradientErrors errors = own_errors(archive);
    for (const auto& [name, tensor] : targets) archive.copy_to(name, tensor);
    const auto callbacks = callbacks_with_state();
    for (std::size_t i = 0; i < callbacks.size(); ++i) {
      callbacks[i]->set_state(without_prefix(archive, callback_prefix(i)));
    }
    gradient_errors_ = std::move(errors);
    position_ = position;
    step_ = step;
    sums_ = {sums[0], sums[1], sums[2], sums[3]};
    has_classes_ = has_classes;
    history_ = std::move(history);
    calibrated_.reset();
    if (!calibrated.empty()) calibrated_ = calibrated.front();
    return notes;
  } catch (const json::exception& error) {
    throw FormatError(fmt::format("checkpoint: {}", detail::fault_text(error)));
  }
}

}  // namespace octet
