#pragma once

#include <string>
#include <string_view>

#include "data/embodiment/embodiment.h"

namespace wam {

// What the reference makes of an annotation: a text that is a Python literal stands for its value
// (of a list or tuple the first element), anything else for itself; then lower case (Unicode).
// "['Pick Up']" -> "pick up".
//
// Source: DreamZero @ ab790c1, its collator (ast.literal_eval, str.lower).
// Errors: DataError for an empty list or tuple, and for the literals that are not read here
//         (complex numbers, triple quotes, dictionaries and sets that Python would print
//         otherwise).
std::string instruction_of(std::string_view annotation);

// The record's template around the instruction.
std::string fill_prompt(const Embodiment& embodiment, std::string_view annotation);

}  // namespace wam
