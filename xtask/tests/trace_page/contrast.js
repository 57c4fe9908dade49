// The WCAG contrast of every text that is shown with what is behind it, and of the picture's shapes.
() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  // Colours one over the other, the lowest first, as the browser itself mixes them.
  const mixed = (colours) => {
    pen.clearRect(0, 0, 1, 1);
    for (const colour of ["#fff", ...colours]) {
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
    }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((part) =>
      part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  // The backgrounds from the page up to an element; where one is striped, each of its stripes.
  const behind = (element) => {
    const chain = [];
    for (let one = element; one; one = one.parentElement) chain.unshift(getComputedStyle(one));
    let grounds = [[]];
    for (const style of chain) {
      grounds = grounds.map((ground) => [...ground, style.backgroundColor]);
      const stripes = style.backgroundImage.match(/(rgba?|color|hsla?|oklab)\([^()]*\)/g) ?? [];
      if (stripes.length) grounds = grounds.flatMap((ground) => stripes.map((stripe) => [...ground, stripe]));
    }
    return grounds;
  };
  const texts = [], shapes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
    if (!text || element.closest("script") || !element.checkVisibility()) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const colour = getComputedStyle(element).color;
    for (const ground of behind(element)) {
      texts.push([contrast(mixed([...ground, colour]), mixed(ground)), element.className || element.localName, text.slice(0, 40)]);
    }
  }
  for (const bar of document.querySelectorAll(".bar")) {
    const lane = mixed(behind(bar.parentElement)[0]), style = getComputedStyle(bar);
    // What has a frame is seen by its frame.
    const own = style.boxShadow.match(/(rgba?|color)\([^()]*\)/)?.[0];
    const frame = style.borderTopWidth !== "0px" ? style.borderTopColor : own;
    const grounds = frame ? [mixed([frame])] : behind(bar).map(mixed);
    for (const ground of grounds) shapes.push([contrast(ground, lane), bar.className]);
  }
  for (const line of document.querySelectorAll(".lanes line")) {
    const stroke = mixed([getComputedStyle(line).stroke]);
    for (const lane of document.querySelectorAll(".lane")) {
      shapes.push([contrast(stroke, mixed(behind(lane)[0])), line.className.baseVal]);
    }
  }
  return { texts, shapes };
}
