// Builds the page: style and script go into the one HTML file that is shipped with the package.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "python", "numloom", "viewer.html");

async function bundled(entry) {
  const made = await build({
    entryPoints: [join(here, "src", entry)], bundle: true, minify: !process.env.READABLE, write: false, format: "iife",
    target: ["chrome110", "firefox113", "safari16.4"], charset: "utf8", legalComments: "none",
  });
  return made.outputFiles[0].text.trim();
}

const page = readFileSync(join(here, "src", "index.html"), "utf8");
// A closing tag inside the script would end it, and the marker must stand in the page once only.
const script = (await bundled("main.ts")).replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = await bundled("style.css");
writeFileSync(target, page.replace("/*STYLE*/", () => style).replace("/*SCRIPT*/", () => script));
