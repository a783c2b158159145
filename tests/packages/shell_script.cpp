#include <fmt/core.h>
#include <octet/tests/packages/shell_script.h>
#include <octet/tests/packages/shell_text.h>

#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

namespace octet::test {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

/// What ends a list of commands.
enum class End { text, parenthesis, backtick, case_clause };

struct HereDocument {
  std::string delimiter;
  bool expanded = true;
  bool indented = false;
};

class ShellParser : ShellText {
 public:
  explicit ShellParser(std::string_view text) : ShellText(text) {}

  ShellScript parse() {
    list(End::text);
    return std::move(script_);
  }

 private:
  void line_end() {
    skip("\n");
    for (const HereDocument& document : std::exchange(documents_, {})) here_document(document);
  }
  void blanks_and_lines() {
    for (blanks(); peek() == '\n'; blanks()) line_end();
  }

  void here_document(const HereDocument& document) {
    std::string body;
    const std::size_t first = line_;
    while (true) {
      if (ended()) fail("the end of the here-document " + document.delimiter);
      std::string line;
      while (!ended() && peek() != '\n') line += next();
      if (!ended()) next();
      if (document.indented) line.erase(0, line.find_first_not_of('\t'));
      if (line == document.delimiter) break;
      body += line + '\n';
    }
    if (!document.expanded) return;
    ShellParser inner(body);
    inner.line_ = first;
    while (!inner.ended()) {
      ShellWord word;
      inner.quoted_part(word);
    }
    take(std::move(inner.script_));
  }

  void take(ShellScript inner) {
    for (ShellCommand& command : inner.commands) script_.commands.push_back(std::move(command));
    script_.functions.merge(inner.functions);
    for (auto& [name, values] : inner.arrays) {
      for (auto& value : values) script_.arrays[name].push_back(std::move(value));
    }
  }

  // Words

  // Appends to `word` the source from `begin` to here.
  void source(ShellWord& word, std::size_t begin) {
    word.text += text_.substr(begin, at_ - begin);
    word.literal = false;
  }

  void expansion(ShellWord& word) {
    const std::size_t begin = at_;
    if (starts("$((")) {
      skip("$((");
      arithmetic();
    } else if (starts("$(")) {
      skip("$(");
      list(End::parenthesis);
    } else if (starts("${")) {
      skip("${");
      braces();
    } else {
      skip("$");
      if (std::isalpha(static_cast<unsigned char>(peek())) != 0 || peek() == '_') {
        while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_') next();
      } else if (std::string_view("0123456789@*#?-$!").find(peek()) != std::string_view::npos) {
        next();
      }
    }
    source(word, begin);
  }

  // After "((", up to and with "))".
  void arithmetic() {
    for (int depth = 0; depth > 0 || !starts("))");) {
      ShellWord ignored;
      if (peek() == '(') ++depth;
      if (peek() == ')') --depth;
      if (depth < 0) fail("'))'");
      quoted_part(ignored);
    }
    skip("))");
  }

  // After "${", up to and with "}".
  void braces() {
    ShellWord ignored;
    while (peek() != '}') {
      if (peek() == '\'' || peek() == '"') {
        quote(ignored);
      } else if (starts("$'")) {
        next();
        quote(ignored);
      } else {
        quoted_part(ignored);
      }
    }
    skip("}");
  }

  // A character or an expansion as between double quotes.
  void quoted_part(ShellWord& word) {
    if (peek() == '$') {
      expansion(word);
    } else if (peek() == '`') {
      const std::size_t begin = at_;
      next();
      list(End::backtick);
      source(word, begin);
    } else if (peek() == '\\' && at_ + 1 < text_.size()) {
      next();
      const char escaped = next();
      if (std::string_view("$`\"\\\n").find(escaped) == std::string_view::npos) word.text += '\\';
      if (escaped != '\n') word.text += escaped;
    } else {
      word.text += next();
    }
  }

  void quote(ShellWord& word) {
    word.plain = false;
    const char mark = next();
    const bool escapes = at_ >= 2 && text_[at_ - 2] == '$';
    while (peek() != mark) {
      if (ended()) fail(fmt::format("the closing {}", mark));
      if (mark == '"') {
        quoted_part(word);
      } else {
        if (escapes && peek() == '\\') next();
        word.text += next();
      }
    }
    next();
  }

  ShellWord word() {
    ShellWord result;
    while (!ended() && !(in_backtick_ && peek() == '`')) {
      if (starts("<(") || starts(">(")) {
        const std::size_t begin = at_;
        at_ += 2;
        list(End::parenthesis);
        source(result, begin);
      } else if (ends_word(peek())) {
        break;
      } else if (peek() == '\'' || peek() == '"') {
        quote(result);
      } else if (starts("$'") || starts("$\"")) {
        next();
        quote(result);
      } else if (peek() == '\\') {
        next();
        result.plain = false;
        if (const char escaped = next(); escaped != '\n') result.text += escaped;
      } else {
        quoted_part(result);
      }
    }
    return result;
  }

  // Of NAME= or NAME+= before "(", the words up to and with ")".
  void array(std::string name) {
    while (name.ends_with('=') || name.ends_with('+')) name.pop_back();
    skip("(");
    std::vector<ShellWord> words;
    for (blanks_and_lines(); peek() != ')'; blanks_and_lines()) {
      if (ended()) fail("')'");
      words.push_back(some_word());
    }
    skip(")");
    script_.arrays[name].push_back(std::move(words));
  }

  ShellWord some_word() {
    const std::size_t begin = at_;
    ShellWord result = word();
    if (at_ == begin) fail("a word");
    return result;
  }

  // Redirections, the digits before them included. Whether there was one.
  bool redirection() {
    std::size_t digits = 0;
    while (std::isdigit(static_cast<unsigned char>(peek(digits))) != 0) ++digits;
    const char sign = peek(digits);
    const bool both = starts("&>");
    if (!both && ((sign != '<' && sign != '>') || (digits == 0 && peek(1) == '('))) return false;
    at_ += digits;
    static constexpr std::array<std::string_view, 12> kSigns = {
        "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"};
    std::string_view found;
    for (const std::string_view candidate : kSigns) {
      if (starts(candidate)) {
        found = candidate;
        break;
      }
    }
    skip(found);
    blanks();
    const ShellWord target = some_word();
    if (found == "<<" || found == "<<-") {
      documents_.push_back({target.text, target.plain, found == "<<-"});
    }
    return true;
  }
  void redirections() {
    for (blanks(); redirection(); blanks()) {
    }
  }

  // Commands

  void list(End end) {
    const bool was_in_backtick = std::exchange(in_backtick_, end == End::backtick);
    while (true) {
      blanks_and_lines();
      if (ended()) {
        if (end != End::text) fail("the end of a substitution or a case");
        break;
      }
      if (end == End::parenthesis && peek() == ')') {
        next();
        break;
      }
      if (end == End::backtick && peek() == '`') {
        next();
        break;
      }
      if (end == End::case_clause && (starts(";;") || starts(";&"))) {
        while (peek() == ';' || peek() == '&') next();
        break;
      }
      if (end == End::case_clause && at_keyword("esac")) break;
      if (peek() == ';' || peek() == '&' || peek() == '|') {
        if (starts("&>") && redirection()) continue;
        next();
      } else {
        command();
      }
    }
    in_backtick_ = was_in_backtick;
  }

  void command() {
    for (const std::string_view opening :
         {"if", "then", "elif", "else", "while", "until", "do", "time", "!", "{"}) {
      if (take_keyword(opening)) return;
    }
    for (const std::string_view closing : {"fi", "done", "}"}) {
      if (take_keyword(closing)) return redirections();
    }
    if (starts("((")) {
      skip("((");
      arithmetic();
      redirections();
    } else if (peek() == '(') {
      skip("(");
      list(End::parenthesis);
      redirections();
    } else if (take_keyword("case")) {
      case_command();
    } else if (take_keyword("for") || take_keyword("select")) {
      for_command();
    } else if (take_keyword("[[")) {
      condition();
    } else if (take_keyword("function")) {
      blanks();
      script_.functions.insert(some_word().text);
      blanks();
      if (starts("()")) skip("()");
    } else {
      simple_command();
    }
  }

  void case_command() {
    blanks();
    some_word();
    blanks_and_lines();
    if (!take_keyword("in")) fail("'in' of a case");
    for (blanks_and_lines(); !take_keyword("esac"); blanks_and_lines()) {
      if (peek() == '(') next();
      for (blanks(); peek() != ')'; blanks()) {
        if (peek() == '|') {
          next();
        } else {
          some_word();
        }
      }
      next();
      list(End::case_clause);
    }
    redirections();
  }

  void for_command() {
    blanks();
    if (starts("((")) {
      skip("((");
      return arithmetic();
    }
    some_word();
    blanks_and_lines();
    if (!take_keyword("in")) return;
    for (blanks(); !ended() && peek() != ';' && peek() != '\n'; blanks()) some_word();
  }

  // Between "[[" and "]]" run only substitutions.
  void condition() {
    while (true) {
      blanks_and_lines();
      if (ended()) fail("']]'");
      if (take_keyword("]]")) break;
      if (ends_word(peek()) && !starts("<(")) {
        next();
      } else {
        some_word();
      }
    }
    redirections();
  }

  void simple_command() {
    ShellCommand found{line_, {}};
    while (true) {
      blanks();
      if (ended() || (in_backtick_ && peek() == '`')) break;
      if (redirection()) continue;
      if (ends_word(peek()) && !starts("<(") && !starts(">(")) {
        if (peek() != '(') break;
        if (found.words.size() != 1 || !starts("()")) fail("an operator");
        skip("()");
        script_.functions.insert(found.words[0].text);
        return;
      }
      ShellWord next_word = some_word();
      if (peek() == '(' && next_word.text.ends_with('=')) {
        array(next_word.text);
        continue;
      }
      const std::size_t equals = next_word.text.find('=');
      std::string_view name = std::string_view(next_word.text).substr(0, equals);
      if (equals != std::string::npos && name.ends_with('+')) name.remove_suffix(1);
      name = name.substr(0, name.find('['));
      const bool assignment = equals != std::string::npos && is_name(name);
      if (!assignment || !found.words.empty()) found.words.push_back(std::move(next_word));
    }
    if (!found.words.empty()) script_.commands.push_back(std::move(found));
  }

  bool in_backtick_ = false;
  std::vector<HereDocument> documents_;
  ShellScript script_;
};

}  // namespace

ShellScript parse_shell(std::string_view text) { return ShellParser(text).parse(); }

}  // namespace octet::test
