// The login: a token for reading, which also serves for acts in this tab until it is idle.
import { dropToken, keepToken, login as enter, logout } from "./api.js";
import { h } from "./dom.js";
import { quiet } from "./parts.js";
import { redraw, state } from "./store.js";

let text = "", problem = null, busy = false;

export const title = () => "Log in";

/** `done()` goes on to where the person was. */
export function login({ done }) {
  const submit = async (event) => {
    event.preventDefault();
    if (busy || !text.trim()) return;
    busy = true;
    problem = null;
    redraw();
    try {
      await enter(text.trim());
      keepToken(text.trim());
      text = "";
      await done();
    } catch (error) {
      problem = error;
    }
    busy = false;
    redraw();
  };
  return h("div.login", { key: "login" }, h("h1", "Log in"), quiet("With the token that the configuration has for you, in [[console.user]]."),
    h("form", { onsubmit: submit, novalidate: true }, h("div.field", h("label", { for: "token" }, "Token"), h("input", { id: "token", type: "password", value: text, autocomplete: "off", spellcheck: "false", autofocus: true, "aria-invalid": problem && "true", "aria-describedby": "token-hint", oninput: (event) => { text = event.target.value; } }),
      h("p", { id: "token-hint", class: problem ? "error" : "quiet" }, problem ? problem.message : "A cookie lets you read for 8 hours. Acts use the token, which stays in this tab's memory for 15 idle minutes.")),
    h("button.primary", { "aria-disabled": busy && "true" }, "Log in")));
}

export async function leave() {
  dropToken();
  await logout().catch(() => {});
  state.me = null;
  location.assign("/login");
}
