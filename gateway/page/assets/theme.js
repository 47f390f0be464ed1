"use strict";
// Before anything is drawn, so that a dark page does not begin with a white flash.

const THEMES = ["auto", "light", "dark"];

function readTheme() {
  try {
    const kept = localStorage.getItem("kafka-gateway-theme");
    return THEMES.includes(kept) ? kept : "auto";
  } catch {
    return "auto"; // a browser may keep nothing for a page
  }
}

function keepTheme(theme) {
  try {
    localStorage.setItem("kafka-gateway-theme", theme);
  } catch {
    // It holds until the page is closed.
  }
}

function showTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

showTheme(readTheme());
