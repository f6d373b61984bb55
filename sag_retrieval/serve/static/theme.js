// Before the first paint: the theme that was chosen, so that a dark page does not flash.
try {
  const theme = localStorage.getItem("sag.theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* storage is switched off: the system's theme */ }
