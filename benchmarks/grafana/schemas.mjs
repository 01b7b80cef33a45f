// Turn the types that Grafana publishes into JSON Schemas, one file a type.
//
//   npm install --no-audit --no-fund @grafana/schema@13.2.3 typescript@5.9.3 ts-json-schema-generator@2.4.0
//   node schemas.mjs FOLDER
//
// Run where `node_modules` stands. FOLDER gets dashboard.*.json and <panel type>.*.json.
import {mkdirSync, existsSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const modules = resolve('node_modules');
const {createGenerator} = await import(
  pathToFileURL(join(modules, 'ts-json-schema-generator/dist/index.js')).href
);
const types = join(modules, '@grafana/schema/dist/types/raw');
const panels = ['timeseries', 'stat', 'statetimeline', 'heatmap', 'table', 'bargauge', 'text'];
const wanted = [
  ['dashboard', 'dashboard/x', ['Dashboard', 'Panel', 'RowPanel']],
  ...panels.map((name) => [name, `composable/${name}/panelcfg/x`, ['Options', 'FieldConfig']]),
];

const folder = resolve(process.argv[2] ?? 'schemas');
mkdirSync(folder, {recursive: true});
for (const [name, place, kinds] of wanted) {
  const path = ['types.gen.d.ts'].map((file) => join(types, place, file)).find(existsSync);
  for (const type of kinds) {
    const config = {path, type, skipTypeCheck: true, additionalProperties: false, jsDoc: 'none'};
    let schema;
    try {
      schema = createGenerator(config).createSchema(type);
    } catch (error) {
      console.log(`${name} has no ${type}: ${error.message.split('\n')[0]}`);
      continue;
    }
    writeFileSync(join(folder, `${name}.${type}.json`), JSON.stringify(schema, null, 1) + '\n');
  }
}
