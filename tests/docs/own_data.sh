#!/usr/bin/env bash
# docs/howto/own_data.md: its Python makes .npy files of images in folders, and Octet reads from them what the
# images hold. Usage: own_data.sh <source folder> <work folder> <read_npy_files>
set -euo pipefail
source=$1 work=$2 reader=$3
page=docs/howto/own_data.md
cd "$source"
. tests/docs/blocks.sh
for module in numpy PIL; do
  [ -e "/usr/lib/python3/dist-packages/$module/__init__.py" ] ||
    skip "there is no $module for Python (on Debian: apt-get install python3-numpy python3-pil)"
done

rm -rf "$work"
mkdir -p "$work"
cd "$work"
/usr/bin/python3 "$source/tests/docs/write_photos.py" >expected
take python >page.py
/usr/bin/python3 page.py
"$reader" x.npy y.npy >found
diff expected found
echo "$(($(wc -l <expected) - 1)) images as they were written"
