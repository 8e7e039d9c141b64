#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/embodiment/embodiment.h"

namespace wam {

std::string describe(const Embodiment& e) {
  std::string out = fmt::format(
      "tag={};id={};views={};state={};action={};language={};choice={};crop={};jitter={},{},{},{};"
      "canvas={}x{};",
      e.tag, e.id, e.views, e.state_keys, e.action_keys, e.language_keys,
      name_of(e.language_choice), e.crop_scale, e.jitter.brightness, e.jitter.contrast,
      e.jitter.saturation, e.jitter.hue, e.canvas_rows, e.canvas_cols);
  for (const auto& p : e.placements) {
    out += fmt::format("place={},{},{},{},{};", p.view, p.row, p.col, p.row_span, p.col_span);
  }
  for (const auto& [key, mode] : e.normalisation) out += fmt::format("{}={};", key, name_of(mode));
  for (const auto& [key, column] : e.column_map) {
    out += fmt::format("{}={}[{},{}];", key, column.column, column.start.value_or(-1),
                       column.end.value_or(-1));
  }
  return out + fmt::format("prompt={};relative={};H={};S={};O={}", e.prompt, e.relative_action_keys,
                           e.action_horizon, e.macro_stride, e.video_offsets);
}

}  // namespace wam
