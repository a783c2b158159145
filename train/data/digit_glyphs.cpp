#include <octet/train/data/digit_glyphs.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <string_view>

namespace octet {
namespace {

// Outlines of each digit: a knot is "x,y" in hundredths of the box, always two digits each; '!'
// makes it a corner; '/' lifts the pen.
using Outlines = std::vector<std::string_view>;

Outlines zeros() {
  return {
      // Round.
      "52,02 28,12 16,36 16,64 28,88 50,98 72,88 84,64 84,36 73,12 52,02",
      // Slim, begun at the upper right, its end passing the start.
      "70,12 50,02 32,22 27,55 34,88 50,98 67,84 74,50 68,20 54,06 42,10",
      // Wide and low.
      "46,10 18,24 06,52 18,80 48,90 80,80 94,50 82,22 56,10 40,13",
      // Not quite closed at the top.
      "44,06 24,22 17,52 26,84 50,97 74,84 83,52 75,22 58,08",
  };
}

Outlines ones() {
  return {
      // A bare stroke.
      "50,02 50,50 50,98",
      "58,02 51,50 42,98",
      "52,04 49,50 50,96",
      // With a flag.
      "32,22 54,02! 54,50 54,98",
      // With a flag and a foot.
      "32,20 52,02! 52,50 52,97 / 28,97 52,97 76,97",
  };
}

Outlines twos() {
  return {
      // A round neck and a straight foot.
      "20,26 32,07 54,02 76,14 78,34 62,58 38,80 16,97! 50,96 86,97",
      // A loop at the lower left and a swinging foot.
      "24,20 44,03 70,10 74,34 58,62 36,88 18,94 14,82 30,78 52,90 72,97 90,88",
      // Angular.
      "20,10 48,04 78,12 70,40 42,72 18,96! 52,94 84,92",
      // A swan's neck: the stroke leaves the bow straight for the foot.
      "16,34 24,12 48,02 72,14 70,42 50,70 24,92! 48,86 66,94 88,92",
  };
}

Outlines threes() {
  return {
      // Two bows that meet in a point.
      "20,14 44,02 70,10 72,30 56,44 40,47! 64,52 80,70 68,92 42,99 16,86",
      // A flat top.
      "20,04 50,04 78,04! 60,24 44,42! 68,48 80,68 68,92 42,98 18,88",
      // A small loop at the waist.
      "22,12 46,02 70,12 70,32 52,48 40,52 38,44 52,44 74,56 78,78 58,96 32,96 16,84",
      // Shallow bows.
      "28,10 52,03 68,18 60,38 46,46! 66,58 70,78 54,94 26,94",
  };
}

Outlines fours() {
  return {
      // Open, in two strokes.
      "28,06 20,34 16,58! 50,58 86,54 / 70,10 67,52 64,98",
      // Closed, as printed.
      "62,02 36,34 12,66! 52,66 90,66 / 62,02 62,50 62,98",
      // Open, in one stroke: the bar turns back up to the stem.
      "22,06 18,32 26,50 48,52 68,36 76,06! 70,50 64,98",
      // Open, a short bar and a stem low on the right.
      "34,02 24,30 14,56! 48,54 80,52 / 60,28 58,62 54,98",
  };
}

Outlines fives() {
  return {
      // Stem and bow, then the bar.
      "28,06 25,26 23,46! 48,39 74,52 78,76 58,95 34,97 14,86 / 28,05 54,05 82,03",
      // In one stroke.
      "80,04 54,05 30,06! 26,26 22,44! 46,40 70,50 76,74 58,94 32,97 16,88",
      // Like an S.
      "80,08 54,04 32,12 28,30 42,42 64,52 72,72 58,92 34,96 16,88",
      // The bar slanted, the bow flat.
      "34,12 30,28 26,44! 50,40 68,56 66,80 46,95 22,94 / 34,12 58,07 86,00",
  };
}

Outlines sixes() {
  return {
      // A long curve into a round bowl.
      "68,02 42,18 24,46 20,74 34,94 56,97 74,84 74,64 58,52 38,56 24,72",
      // A straight stem.
      "44,02 32,32 26,62 32,88 52,98 72,88 74,68 58,56 40,62 28,78",
      // A hooked top and a small bowl.
      "78,12 62,03 40,14 25,42 22,74 38,95 60,94 70,78 58,65 38,68 26,80",
      // Leaning far, the bowl closing on the stem.
      "82,06 54,22 30,48 20,72 30,92 50,96 66,82 62,64 44,60 26,72",
  };
}

Outlines sevens() {
  return {
      // A bar and a straight stem.
      "16,06 50,06 84,05! 64,48 44,97",
      // The stem curved.
      "14,10 46,08 82,06! 62,34 50,64 48,98",
      // Crossed.
      "16,06 50,06 82,05! 62,46 42,97 / 32,50 56,49 80,47",
      // A serif at the start.
      "16,24 18,06! 52,08 84,06! 66,42 50,97",
      // A rounded turn.
      "14,16 36,05 66,06 78,18 66,46 54,72 46,98",
  };
}

Outlines eights() {
  return {
      // One stroke that crosses itself.
      "72,14 50,02 28,14 32,34 54,50 74,70 70,90 48,98 26,88 26,68 48,50 68,32 72,14",
      // Two rings.
      "50,02 32,10 27,26 36,41 50,46 65,41 73,26 68,10 50,02 / 50,46 28,56 20,74 30,92 50,98 "
      "70,92 80,74 72,56 50,46",
      // Slim, open at the upper right.
      "70,10 50,03 34,14 36,32 52,48 66,66 64,88 46,97 32,84 38,62 56,44 72,24",
      // A small head on a wide body.
      "64,16 50,04 36,14 38,30 56,42 80,62 78,86 50,98 22,86 22,62 46,42 62,30 64,16",
  };
}

Outlines nines() {
  return {
      // A round head and a straight stem.
      "74,16 54,02 30,10 22,30 34,47 56,44 74,24! 72,58 66,98",
      // A curved tail.
      "72,24 60,05 38,04 24,22 32,42 54,44 72,26 77,46 72,76 54,95 28,92",
      // A flat head, the stem leaning.
      "76,10 50,06 28,20 26,38 46,44 68,28 76,08! 64,52 50,97",
      // A small head on a long stem.
      "68,18 52,04 36,14 34,32 50,40 66,28 69,12! 68,54 60,98",
  };
}

int two_digits(std::string_view text) { return 10 * (text[0] - '0') + (text[1] - '0'); }

Glyph parse(std::string_view outline) {
  Glyph glyph(1);
  std::size_t at = 0;
  while (at < outline.size()) {
    switch (outline[at]) {
      case ' ':
        ++at;
        break;
      case '/':
        glyph.emplace_back();
        ++at;
        break;
      case '!':
        glyph.back().back().corner = true;
        ++at;
        break;
      default: {
        assert(at + 5 <= outline.size() && outline[at + 2] == ',');
        const int x = two_digits(outline.substr(at));
        const int y = two_digits(outline.substr(at + 3));
        glyph.back().push_back({static_cast<float>(x) / 100.0F, static_cast<float>(y) / 100.0F});
        at += 5;
      }
    }
  }
  return glyph;
}

std::array<std::vector<Glyph>, 10> parse_all() {
  const std::array<Outlines, 10> outlines = {zeros(), ones(),  twos(),   threes(), fours(),
                                             fives(), sixes(), sevens(), eights(), nines()};
  std::array<std::vector<Glyph>, 10> glyphs;
  for (std::size_t digit = 0; digit < glyphs.size(); ++digit) {
    for (const std::string_view outline : outlines[digit]) glyphs[digit].push_back(parse(outline));
  }
  return glyphs;
}

}  // namespace

const std::vector<Glyph>& digit_glyphs(int digit) {
  static const auto glyphs = parse_all();
  assert(digit >= 0 && digit < 10);
  return glyphs[static_cast<std::size_t>(digit)];
}

}  // namespace octet
