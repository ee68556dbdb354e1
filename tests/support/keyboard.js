// The controls of the page that is open, each with a number, and which one has the focus, seen or not.
() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, th.sortable, [tabindex], [role=button], [role=tab], "
    + "[role=switch], [role=slider], [role=checkbox], [role=radio], [role=combobox], [role=option], [role=menuitem]";
  const visible = element => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    return box.width > 0 && box.height > 0 && style.visibility !== "hidden" && style.display !== "none";
  };
  const off = element => element.closest("[disabled], [aria-disabled=true], .disabled, [aria-hidden=true], [inert]") !== null;
  // What is reached through the control around it or within it: the field of a switch, one of several tabs or choices.
  const AROUND = "a[href], button, summary, label, th.sortable, [role=button], [role=tab], [role=switch], [role=slider], "
    + "[role=checkbox], [role=radio], [role=combobox], .q-field, .q-slider";
  const within = element => {
    const around = element.parentElement?.closest(AROUND);
    return around != null && window.walked.reached.has(around);
  };
  const roving = element => element.closest("[role=tablist], [role=radiogroup]") !== null;
  const name = element => `${element.tagName.toLowerCase()} ${(element.getAttribute("aria-label") || element.dataset.testid
    || element.innerText || element.className || "").toString().trim().slice(0, 60)}`;
  const shows = focused => {
    const parts = [focused, ...focused.querySelectorAll("*"), focused.parentElement, focused.closest(".q-field"), focused.closest("label")];
    return parts.filter(Boolean).some(each => {
      const own = getComputedStyle(each);
      return own.outlineStyle !== "none" && parseFloat(own.outlineWidth) > 0 || each.matches(".q-field--focused, .q-field--highlighted")
        || each.matches(".q-focus-helper") && parseFloat(own.opacity) > 0;
    });
  };
  window.walked ??= { reached: new Set(), blind: new Set() };
  const focused = document.activeElement;
  if (focused && focused !== document.body) {
    for (let each = focused; each; each = each.parentElement) window.walked.reached.add(each);
    if (!shows(focused)) window.walked.blind.add(name(focused));
  }
  const pointed = [...document.querySelectorAll("main *, header *, aside *")].filter(each =>
    getComputedStyle(each).cursor === "pointer" && getComputedStyle(each.parentElement).cursor !== "pointer");
  const controls = [...new Set([...document.querySelectorAll(CONTROLS), ...pointed])].filter(each =>
    visible(each) && !off(each) && each.type !== "hidden");
  const missed = controls.filter(each => !window.walked.reached.has(each) && !within(each) && !roving(each)
    && !(each.tabIndex < 0 && getComputedStyle(each).cursor !== "pointer"));
  return { count: controls.length, missed: missed.map(name), blind: [...window.walked.blind],
    at: focused === document.body ? "" : name(focused) };
}
