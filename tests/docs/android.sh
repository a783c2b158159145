#!/usr/bin/env bash
# docs/howto/android.md: its Java is compiled, and classifies digits as `octet run` does. LiteRT and Android
# are stand-ins, java/, written after their documentation: what they do by themselves is not tested.
# Usage: android.sh <source folder> <what prepare.sh made> <work folder> <bin folder>
set -euo pipefail
source=$1 given=$2 work=$3 bin=$4
page=docs/howto/android.md
cd "$source"
. tests/docs/blocks.sh
needs javac default-jdk-headless
needs java default-jre-headless

rm -rf "$work"
mkdir -p "$work/assets"
cd "$work"
cp "$given/model_int8.tflite" assets/
take java >Digits.java
javac -Xlint:all -Werror -sourcepath "$source/tests/docs/java" -d classes \
  Digits.java "$source/tests/docs/java/Classify.java"
java "-Doctet=$bin/octet" -cp classes Classify assets model_int8.tflite <"$given/pixels" >found
same "the page's Java, on stand-ins for LiteRT's and Android's classes" "$given/classes" found
