// Model::save() and load().

#include <fmt/core.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/layers/architecture.h>
#include <octet/layers/model.h>

namespace octet {

Archive Model::archived_tensors(std::string_view operation) const {
  require_built(operation);
  Archive archive;
  for (const auto& [name, tensor] : saved_tensors()) archive.add(name, tensor);
  return archive;
}

void Model::save(const std::filesystem::path& path) const {
  Archive archive = archived_tensors("save");
  try {
    add_architecture(archive, *this);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(
        fmt::format("save: {}; save_tensors() writes the tensors alone, for load()", error.what()));
  }
  archive.write(path);
}

void Model::save_tensors(const std::filesystem::path& path) const {
  archived_tensors("save_tensors").write(path);
}

void Model::load(const std::filesystem::path& path) {
  require_built("load");
  const Archive archive = Archive::read(path);
  if (archive.has_text("kind")) {
    throw FormatError(fmt::format(
        "load: expected a file of Model::save(), found '{}', a checkpoint of a Trainer; "
        "use load_model(), or Trainer::load_checkpoint()",
        path.string()));
  }
  restore(archive);
}

void Model::restore(const Archive& archive) {
  // Checked as a whole before anything is changed.
  const std::vector<NamedTensor> targets = saved_tensors();
  for (const auto& [name, tensor] : targets) archive.check_shape(name, tensor.shape());
  if (archive.tensors().size() != targets.size()) {
    throw FormatError(
        fmt::format("load: model \"{}\" has {} tensors, the archive {}; was it saved "
                    "from a model of more layers?",
                    name_, targets.size(), archive.tensors().size()));
  }
  check_architecture(archive, *this);
  for (const auto& [name, tensor] : targets) archive.copy_to(name, tensor);
}

}  // namespace octet
