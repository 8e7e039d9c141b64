#include "data/embodiment/python_literal.h"

#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include <utf8proc.h>

#include "core/base/errors.h"

namespace wam {
namespace {

struct NotALiteral {};

using Kind = PythonValue::Kind;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & '\x80') != 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  utf8proc_uint8_t bytes[4];
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  if (count <= 0) throw NotALiteral{};
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

// Python's choice of quotes and escapes.
std::string quoted(const std::string& text, bool bytes) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (byte < 0x20 || byte == 0x7F || (bytes && byte >= 0x80)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

// repr(float): shortest digits, an exponent below 1e-4 and from 1e16 on.
std::string float_text(double value) {
  if (value > 1.7976931348623157e308) return "inf";
  if (value == 0) return "0.0";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string all(buffer, end.ptr);
  const auto mark = all.find('e');
  const int exponent = std::atoi(all.c_str() + mark + 1);
  std::string digits = all.substr(0, mark);
  if (digits.size() > 1) digits.erase(1, 1);
  if (exponent < -4 || exponent >= 16) {
    const std::string mantissa = digits.size() > 1 ? digits[0] + ("." + digits.substr(1)) : digits;
    return fmt::format("{}e{}{:02d}", mantissa, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  return digits.substr(0, whole) + "." + (digits.size() > whole ? digits.substr(whole) : "0");
}

class Parser {
 public:
  explicit Parser(std::string_view source) : in_(source) {}

  PythonValue whole() {
    while (at_ < in_.size() && (in_[at_] == ' ' || in_[at_] == '\t')) ++at_;
    PythonValue value = expression();
    skip();
    if (peek() == ',') value = rest_of_tuple(std::move(value), '\0');
    ++depth_;  // line ends may follow
    skip();
    if (at_ != in_.size()) throw NotALiteral{};
    return value;
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  // Blanks; inside brackets also line ends; comments.
  void skip() {
    for (;; ++at_) {
      const char c = peek();
      if (c == '#') {
        while (at_ < in_.size() && in_[at_] != '\n') ++at_;
      }
      const bool line_end = peek() == '\n' || peek() == '\r';
      const bool blank = peek() == ' ' || peek() == '\t' || peek() == '\f';
      if (at_ >= in_.size() || !(blank || (line_end && depth_ > 0))) return;
    }
  }

  PythonValue expression() {
    if (depth_ > 50) throw NotALiteral{};
    skip();
    const char c = peek();
    if (c == '[' || c == '(') return sequence();
    if (c == '{') return braces();
    if (is_digit(c) || (c == '.' && is_digit(peek(1))) || c == '+' || c == '-') return number();
    if (in_.substr(at_, 3) == "...") {
      at_ += 3;
      return {Kind::kName, "Ellipsis", "Ellipsis", {}};
    }
    if (starts_string()) return strings();
    for (const char* name : {"None", "True", "False"}) {
      const std::string_view word(name);
      if (in_.substr(at_, word.size()) == word && !is_word(peek(word.size()))) {
        at_ += word.size();
        return {Kind::kName, name, name, {}};
      }
    }
    throw NotALiteral{};
  }

  PythonValue sequence() {
    const char close = take('[') ? ']' : (++at_, ')');
    ++depth_;
    skip();
    PythonValue value{Kind::kSequence, "", "", {}};
    if (!take(close)) {
      PythonValue first = expression();
      skip();
      if (close == ')' && take(')')) {
        --depth_;
        return first;
      }
      value = rest_of_tuple(std::move(first), close);
    }
    --depth_;
    value.repr = close == ']' ? "[" + value.repr + "]"
                              : "(" + value.repr + (value.items.size() == 1 ? ",)" : ")");
    value.text = value.repr;
    return value;
  }

  // After the first item: ", b, c" up to and with `close` ('\0': the end of the expression).
  PythonValue rest_of_tuple(PythonValue first, char close) {
    PythonValue value{Kind::kSequence, "", "", {}};
    value.items.push_back(std::move(first));
    skip();
    while (take(',')) {
      skip();
      if (peek() == close || (close == '\0' && (at_ >= in_.size() || peek() == '\n'))) break;
      value.items.push_back(expression());
      skip();
    }
    if (close != '\0' && !take(close)) throw NotALiteral{};
    for (const auto& item : value.items) value.repr += (value.repr.empty() ? "" : ", ") + item.repr;
    return value;
  }

  // A dictionary or a set; only its printed form counts.
  PythonValue braces() {
    ++at_;
    ++depth_;
    skip();
    std::string inside;
    int count = 0;
    bool dictionary = true;
    while (!take('}')) {
      if (count > 0 && !take(',')) throw NotALiteral{};
      skip();
      if (count > 0 && take('}')) break;
      inside += (count == 0 ? "" : ", ") + expression().repr;
      skip();
      const bool colon = take(':');
      if (count > 0 && colon != dictionary) throw NotALiteral{};
      dictionary = colon;
      if (colon) inside += ": " + expression().repr;
      skip();
      ++count;
    }
    --depth_;
    require<DataError>(
        dictionary || count < 2,
        "reading the instruction '{}': a Python set of several elements has no order. "
        "Fix: write the instruction as plain text",
        in_);
    return {Kind::kOther, "{" + inside + "}", "{" + inside + "}", {}};
  }

  PythonValue number() {
    std::string sign;
    if (take('-'))
      sign = "-";
    else
      take('+');
    skip();
    PythonValue value = unsigned_number();
    if (value.kind != Kind::kNumber && value.kind != Kind::kComplex) throw NotALiteral{};
    if (sign == "-" && value.text != "0") value.text = "-" + value.text;
    skip();
    if (value.kind == Kind::kNumber && (peek() == '+' || peek() == '-')) {
      ++at_;
      skip();
      if (unsigned_number().kind != Kind::kComplex) throw NotALiteral{};
      value.kind = Kind::kComplex;
    }
    value.repr = value.text;
    return value;
  }

  // Digits of one base with single underscores between them.
  std::string digits(const char* allowed) {
    std::string out;
    const auto ok = [&](char c) {
      return c != '\0' && std::string_view(allowed).find(c) != std::string_view::npos;
    };
    while (ok(peek()) || (peek() == '_' && ok(peek(1)) && !out.empty())) {
      if (peek() != '_') out += peek();
      ++at_;
    }
    return out;
  }

  PythonValue unsigned_number() {
    if (!is_digit(peek()) && peek() != '.') throw NotALiteral{};
    const char mark = static_cast<char>(peek(1) | 0x20);
    if (peek() == '0' && (mark == 'x' || mark == 'o' || mark == 'b')) return based(mark);
    std::string text = digits("0123456789");
    bool real = false;
    if (take('.')) {
      real = true;
      text += "." + digits("0123456789");
    }
    if (text == ".") throw NotALiteral{};
    if ((peek() | 0x20) == 'e') {
      real = true;
      text += exponent();
    }
    const bool imaginary = take('j') || take('J');
    if (is_word(peek()) || peek() == '.') throw NotALiteral{};
    if (imaginary) return {Kind::kComplex, text, text, {}};
    if (real) return {Kind::kNumber, float_text(std::strtod(text.c_str(), nullptr)), "", {}};
    const auto significant = text.find_first_not_of('0');
    if (significant == std::string::npos) return {Kind::kNumber, "0", "", {}};
    if (significant != 0) throw NotALiteral{};
    return {Kind::kNumber, text, "", {}};
  }

  std::string exponent() {
    ++at_;
    std::string out = "e";
    if (peek() == '+' || peek() == '-') out += in_[at_++];
    const auto value = digits("0123456789");
    if (value.empty()) throw NotALiteral{};
    return out + value;
  }

  PythonValue based(char mark) {
    at_ += 2;
    take('_');
    const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : 2;
    const auto text = digits(base == 16 ? "0123456789abcdefABCDEF" : base == 8 ? "01234567" : "01");
    if (text.empty() || is_word(peek())) throw NotALiteral{};
    std::uint64_t value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
    require<DataError>(result.ec == std::errc(),
                       "reading the instruction '{}': an integer above 64 bits. Fix: write the "
                       "instruction as plain text",
                       in_);
    return {Kind::kNumber, fmt::format("{}", value), "", {}};
  }

  [[nodiscard]] bool starts_string() const {
    std::size_t ahead = 0;
    while (ahead < 2 && std::string_view("rRbBuU").find(peek(ahead)) != std::string_view::npos &&
           peek(ahead) != '\0') {
      ++ahead;
    }
    return peek(ahead) == '\'' || peek(ahead) == '"';
  }

  // Adjacent strings join.
  PythonValue strings() {
    std::string text;
    std::optional<bool> bytes;
    while (starts_string()) {
      bool raw = false;
      bool byte_string = false;
      bool unicode = false;
      for (; peek() != '\'' && peek() != '"'; ++at_) {
        bool& flag = (peek() | 0x20) == 'r' ? raw : (peek() | 0x20) == 'b' ? byte_string : unicode;
        if (flag) throw NotALiteral{};
        flag = true;
      }
      if (unicode && (raw || byte_string)) throw NotALiteral{};
      if (bytes.value_or(byte_string) != byte_string) throw NotALiteral{};
      bytes = byte_string;
      text += one_string(raw, byte_string);
      skip();
    }
    const auto repr = quoted(text, *bytes);
    if (*bytes) return {Kind::kBytes, "b" + repr, "b" + repr, {}};
    return {Kind::kText, text, repr, {}};
  }

  std::string one_string(bool raw, bool bytes) {
    const char quote = peek();
    const std::string triple(3, quote);
    const bool is_triple = in_.substr(at_, 3) == triple;
    const std::string close = is_triple ? triple : std::string(1, quote);
    at_ += close.size();
    std::string out;
    while (in_.substr(at_, close.size()) != close) {
      if (at_ >= in_.size() || (!is_triple && peek() == '\n')) throw NotALiteral{};
      const char c = in_[at_++];
      if (bytes && (c & '\x80') != 0) throw NotALiteral{};
      if (c != '\\') {
        out += c;
      } else if (raw) {
        out += c;
        if (at_ < in_.size()) out += in_[at_++];
      } else {
        escape(out, bytes);
      }
    }
    at_ += close.size();
    return out;
  }

  void escape(std::string& out, bool bytes) {
    const char c = at_ < in_.size() ? in_[at_++] : '\0';
    constexpr std::string_view kFrom = "\\'\"abfnrtv";
    constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    if (const auto i = kFrom.find(c); c != '\0' && i != std::string_view::npos) {
      out += kTo[i];
    } else if (c == 'x') {
      coded(out, 2, 16, bytes);
    } else if (!bytes && (c == 'u' || c == 'U')) {
      coded(out, c == 'u' ? 4 : 8, 16, false);
    } else if (c >= '0' && c <= '7') {
      --at_;
      std::size_t length = 1;
      while (length < 3 && peek(length) >= '0' && peek(length) <= '7') ++length;
      coded(out, length, 8, bytes);
    } else if (c != '\n') {
      require<DataError>(bytes || c != 'N',
                         "reading the instruction '{}': the escape \\N is not read. Fix: write the "
                         "character itself",
                         in_);
      out += {'\\', c};
    }
  }

  void coded(std::string& out, std::size_t length, int base, bool bytes) {
    std::uint32_t code = 0;
    const char* first = in_.data() + at_;
    if (at_ + length > in_.size()) throw NotALiteral{};
    const auto result = std::from_chars(first, first + length, code, base);
    if (result.ec != std::errc() || result.ptr != first + length) throw NotALiteral{};
    at_ += length;
    if (bytes)
      out += static_cast<char>(code);
    else
      append_utf8(out, code);
  }

  std::string_view in_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<PythonValue> parse_python_literal(std::string_view source) {
  try {
    return Parser(source).whole();
  } catch (const NotALiteral&) {
    return std::nullopt;
  }
}

}  // namespace wam
