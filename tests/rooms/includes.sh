#!/usr/bin/env bash
# Who may include whom: a room includes itself and the rooms below it. Prints every include that
# points up and fails where there is one. Usage: includes.sh <source folder>
set -euo pipefail
cd "$1"

rooms=()
for room in core frontend runtime layers deploy train compress import report command_line application examples tools; do
  [ ! -d "$room" ] || rooms+=("$room")
done
grep -rnE '^ *# *include *[<"]' --include='*.h' --include='*.cpp' "${rooms[@]}" | awk '
  BEGIN {
    # Of core: what arithmetic, kernels and quant are made of knows no tensor and no tape.
    below["core/arithmetic"] = "core/arithmetic"
    below["core/kernels"] = "core core/arithmetic core/kernels"
    below["core/quant"] = below["core/kernels"] " core/quant"
    below["core/ops"] = below["core/quant"] " core/ops"
    below["core"] = below["core/quant"]
    below["runtime"] = "runtime " below["core/quant"]
    below["frontend"] = "frontend " below["core/quant"]
    below["layers"] = "layers runtime " below["core/ops"]
    below["deploy"] = "deploy frontend " below["layers"]
    below["train"] = "train " below["deploy"]
    below["compress"] = "compress " below["train"]
    below["import"] = "import " below["train"]
    below["report"] = "report " below["compress"]
    below["command_line"] = "command_line " below["train"]
    below["examples/networks"] = "examples/networks octet.h extend.h import report " below["compress"]
    below["application"] = "application command_line " below["examples/networks"]
    below["examples"] = "examples " below["application"]
    below["tools"] = "tools " below["application"]
    no_tensors["core/arithmetic"] = no_tensors["core/kernels"] = no_tensors["core/quant"] = 1
    no_tensors["runtime"] = no_tensors["frontend"] = 1
  }
  function room_of(path, parts) {
    split(path, parts, "/")
    if (parts[1] == "core" && parts[3] != "") return "core/" parts[2]
    if (parts[1] == "examples" && parts[2] == "networks") return "examples/networks"
    return parts[1]
  }
  {
    split($0, fields, ":")
    file = fields[1]
    header = $0
    sub(/^[^<"]*[<"]/, "", header)
    sub(/[>"].*$/, "", header)
    if (header !~ /^octet\//) {
      # A path of its own would get around this test; generated accessors have no folder.
      if ($0 ~ /"/ && (header ~ /\// || header ~ /\.\./)) { print $0 ": not <octet/...>"; bad = 1 }
      next
    }
    sub(/^octet\//, "", header)
    from = room_of(file)
    to = room_of(header)
    if (!(from in below)) { print file ": " from " is a room that this test does not know"; bad = 1 }
    up = index(" " below[from] " ", " " to " ") == 0
    tensors = no_tensors[from] && header ~ /^core\/(tensor|autograd|gradcheck|eigen)/
    if (up || tensors) { print fields[1] ":" fields[2] ": " from " includes " header; bad = 1 }
    ++seen
  }
  END {
    if (seen < 100) { print "found " seen + 0 " includes; is this the source folder?"; bad = 1 }
    exit bad
  }'
