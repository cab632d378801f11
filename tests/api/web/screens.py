"""What a page that can be read does not have: each is a script that lists what is wrong with the one that is open.

| script | lists |
|---|---|
| `CONTRAST` | texts that hardly differ from what is behind them (WCAG AA) |
| `WIDE` | what makes the page scroll sideways |
| `UNNAMED` | what screen readers have no name for |
"""

from typing import Final

CONTRAST: Final = """() => {
  const linear = (c) => (c /= 255, c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest(".hidden, .skip, noscript, thead")) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.outerHTML.slice(0, 80)}`);
  }
  return found;
}"""

WIDE: Final = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.body.querySelectorAll("*")]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth)
  .map((element) => `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`).slice(0, 12)"""

UNNAMED: Final = """() => [...document.querySelectorAll("a, button, input, textarea, table, section")]
  .filter((element) => element.checkVisibility())
  .filter((element) => !(element.textContent.trim() || element.getAttribute("aria-label") || element.labels?.length))
  .map((element) => element.outerHTML.slice(0, 80))"""
