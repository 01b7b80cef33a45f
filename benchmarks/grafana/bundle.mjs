// Bundle the page that draws boards, where `node_modules` stands.
//
//   npm install --no-audit --no-fund --legacy-peer-deps @grafana/data@13.2.3 @grafana/ui@13.2.3 \
//     @grafana/schema@13.2.3 @grafana/i18n@13.2.3 react@19 react-dom@19 react-router-dom@6 rxjs@7 esbuild
//   node bundle.mjs PAGE.jsx FOLDER
import {mkdirSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const modules = resolve('node_modules');
const {build} = await import(pathToFileURL(join(modules, 'esbuild/lib/main.js')).href);
const [page, folder] = process.argv.slice(2).map((path) => resolve(path));
mkdirSync(folder, {recursive: true});

const EMPTY = ['stream', 'tty', 'util', 'fs', 'path', 'os', 'crypto'];
const shims = {
  name: 'shims',
  setup(builder) {
    const stub = new RegExp(`^(node:)?(${EMPTY.join('|')})$`);
    builder.onResolve({filter: stub}, ({path}) => ({path, namespace: 'empty'}));
    builder.onLoad({filter: /.*/, namespace: 'empty'}, () => ({contents: 'module.exports = {}'}));
    const scrollbars = join(modules, 'react-custom-scrollbars-2/lib/index.js');
    builder.onResolve({filter: /^react-custom-scrollbars-2$/}, () => ({path: 'bars', namespace: 'bars'}));
    builder.onLoad({filter: /.*/, namespace: 'bars'}, () => ({
      contents: `import * as all from ${JSON.stringify(scrollbars)};
        export const Scrollbars = all.Scrollbars; export default all.Scrollbars;`,
      resolveDir: modules,
    }));
  },
};
await build({
  entryPoints: [page], outfile: join(folder, 'page.js'), bundle: true, format: 'iife', jsx: 'automatic',
  nodePaths: [modules], absWorkingDir: modules, minify: true, logLevel: 'error', plugins: [shims],
  alias: {'react-router-dom-v5-compat': 'react-router-dom'},
  define: {'process.env.NODE_ENV': '"production"', global: 'window', 'process.env': '{}'},
  loader: {'.svg': 'dataurl', '.woff2': 'dataurl', '.woff': 'dataurl', '.png': 'dataurl',
    '.ttf': 'dataurl'},
});
writeFileSync(join(folder, 'index.html'), `<!doctype html><meta charset="utf-8">
<link rel="stylesheet" href="page.css"><style>body{margin:8px;background:#111217;color:#ccccdc;
font-family:Inter,Helvetica,Arial,sans-serif}#root{position:relative}</style>
<div id="root"></div><script src="page.js"></script>\n`);
