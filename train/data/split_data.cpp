#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/core/random.h>
#include <octet/train/data/split_data.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace octet {
namespace {

/// How many examples a group has of each class that it has any of, and in all.
struct Group {
  std::map<std::int32_t, double> classes;
  double size = 0;
  std::vector<std::uint32_t> rows;
};

/// The class of each example; one for all where targets are no labels.
Labels classes_of(const Dataset& data) {
  if (!data.has_labels()) return Labels(data.size(), 0);
  return {data.labels().begin(), data.labels().end()};
}

/// In the order in which they first appear.
std::vector<Group> groups_of(const Labels& classes, const Groups& groups) {
  std::vector<Group> result;
  std::unordered_map<std::uint32_t, std::size_t> places;
  for (std::uint32_t row = 0; row < classes.size(); ++row) {
    const std::uint32_t name = groups.empty() ? row : groups[row];
    const auto [place, is_new] = places.try_emplace(name, result.size());
    if (is_new) result.emplace_back();
    Group& group = result[place->second];
    group.classes[classes[row]] += 1;
    group.size += 1;
    group.rows.push_back(row);
  }
  return result;
}

/// How many examples of a class a part is to get, and how many it lacks.
struct Need {
  double whole = 0;
  double left = 0;
};

/// How much a part needs a group: its examples, weighted by the shares of their classes that the
/// part lacks.
double need_of(const Group& group, const std::vector<Need>& part) {
  double sum = 0;
  for (const auto& [label, count] : group.classes) {
    const Need& need = part[static_cast<std::size_t>(label)];
    sum += count * need.left / need.whole;
  }
  return sum;
}

void take(const Group& group, std::vector<Need>& part, std::vector<std::uint32_t>& rows) {
  for (const auto& [label, count] : group.classes) {
    part[static_cast<std::size_t>(label)].left -= count;
  }
  rows.insert(rows.end(), group.rows.begin(), group.rows.end());
}

std::string name_of(const Dataset& data, std::size_t label) {
  if (!data.has_labels()) return "the examples";
  if (data.class_names().empty()) return fmt::format("class {}", label);
  return fmt::format("class {}", printable(data.class_names()[label]));
}

void check(const Dataset& data, double share, const Groups& groups) {
  if (!(share > 0 && share < 1)) {
    throw InvalidArgument(
        fmt::format("split_data: expected a share between 0 and 1 for training, found {}", share));
  }
  if (!groups.empty() && groups.size() != data.size()) {
    throw InvalidArgument(
        fmt::format("split_data: expected a group for each of {} examples, found "
                    "{}",
                    data.size(), groups.size()));
  }
}

/// Refuses a part without an example of a class that the data have.
void check_part(const Dataset& data, const std::vector<Group>& groups,
                const std::vector<Need>& part) {
  for (std::size_t label = 0; label < part.size(); ++label) {
    if (part[label].whole == 0 || part[label].left < part[label].whole) continue;
    const auto of_class = std::ranges::count_if(groups, [&](const Group& group) {
      return group.classes.contains(static_cast<std::int32_t>(label));
    });
    const bool are_single = groups.size() == data.size();
    throw InvalidArgument(fmt::format(
        "split_data: expected {} of '{}' to be at least two {}, one for each part, found {}{}",
        name_of(data, label), data.name(), are_single ? "examples" : "groups", of_class,
        are_single ? "; add one, or leave it out" : "; a group is never divided"));
  }
}

}  // namespace

DataSplit split_data(const Dataset& data, double share, const Groups& groups, std::uint64_t seed) {
  check(data, share, groups);
  const Labels classes = classes_of(data);
  std::vector<Group> all = groups_of(classes, groups);
  std::vector<Need> train(static_cast<std::size_t>(std::max(data.classes(), 1)));
  std::vector<Need> test(train.size());
  for (std::size_t label = 0; label < train.size(); ++label) {
    const auto count =
        static_cast<double>(std::ranges::count(classes, static_cast<std::int32_t>(label)));
    if (count == 0) continue;
    // Both parts want a single example, and check_part() names the one that goes without.
    const double kept = count < 2 ? 1 : std::clamp(std::round(share * count), 1.0, count - 1);
    train[label] = {kept, kept};
    test[label] = {std::max(count - kept, 1.0), std::max(count - kept, 1.0)};
  }
  std::vector<std::uint32_t> order = Random(seed).permutation(all.size());
  std::ranges::stable_sort(order, [&](auto a, auto b) { return all[a].size > all[b].size; });
  std::vector<std::uint32_t> train_rows;
  std::vector<std::uint32_t> test_rows;
  for (const std::uint32_t i : order) {
    if (need_of(all[i], train) >= need_of(all[i], test)) {
      take(all[i], train, train_rows);
    } else {
      take(all[i], test, test_rows);
    }
  }
  check_part(data, all, train);
  check_part(data, all, test);
  std::ranges::sort(train_rows);
  std::ranges::sort(test_rows);
  return {data.subset(train_rows), data.subset(test_rows)};
}

}  // namespace octet
