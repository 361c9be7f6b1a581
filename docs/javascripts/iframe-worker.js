// A page that is opened from a folder may start no worker, but the search of the site runs in one.
// There, and only there, a hidden frame takes its place: a script with the same two words,
// postMessage and the event "message".
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #inside;

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const scope = frame.contentWindow;
      scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = scope.document.createElement("script");
      script.src = new URL(url, location);
      this.#inside = new Promise((loaded) => {
        script.onload = () => loaded(scope);
      });
      scope.document.body.append(script);
    }

    async postMessage(data) {
      const scope = await this.#inside;
      scope.dispatchEvent(new scope.MessageEvent("message", { data }));
    }
  };
}
