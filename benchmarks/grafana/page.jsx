// Draws one of our boards with Grafana's own display code, outside of Grafana.
//
// What is Grafana's: transformations, overrides, mappings, thresholds, units, links, and the
// components of stat, bar gauge, lines and table. Heatmap and lanes are stand-ins of ours, since
// their panels are not published. The page asks Prometheus itself.
import React from 'react';
import {createRoot} from 'react-dom/client';
import {flushSync} from 'react-dom';
import {lastValueFrom} from 'rxjs';
import {
  applyFieldOverrides, createTheme, dateTime, FieldConfigOptionsRegistry, FieldType,
  getDisplayProcessor, getFieldDisplayName, getFieldDisplayValues, identityOverrideProcessor,
  standardFieldConfigEditorRegistry, standardTransformers, standardTransformersRegistry,
  ThemeContext, toDataFrame, transformDataFrame, VizOrientation,
} from '@grafana/data';
import {
  BarGauge, BigValue, BigValueColorMode, BigValueGraphMode, GlobalStyles, PanelChrome,
  Table, TimeSeries,
} from '@grafana/ui';
import {initPluginTranslations} from '@grafana/i18n';
import 'uplot/dist/uPlot.min.css';

const theme = createTheme({colors: {mode: 'dark'}});
const CELL = 30, GAP = 8;

const option = (id, isCustom = false) => ({
  id: isCustom ? `custom.${id}` : id, path: id, isCustom, name: id, description: '',
  editor: () => null, override: () => null, process: identityOverrideProcessor,
  shouldApply: () => true,
});
const STANDARD = ['unit', 'min', 'max', 'decimals', 'displayName', 'noValue', 'thresholds',
  'mappings', 'links', 'color'].map((id) => option(id));
standardFieldConfigEditorRegistry.setInit(() => STANDARD);
// Several names stand for one transformation there.
const TRANSFORMERS = new Map(Object.values(standardTransformers).map((one) => [one.id, one]));
standardTransformersRegistry.setInit(() =>
  [...TRANSFORMERS.values()].map((transformation) => ({
    id: transformation.id, transformation: async () => transformation, name: transformation.name ?? transformation.id,
    editor: () => null,
  })));
const CUSTOM = ['cellOptions', 'inspect', 'minWidth', 'drawStyle', 'lineWidth', 'lineInterpolation', 'fillOpacity',
  'gradientMode', 'showPoints', 'pointSize', 'spanNulls', 'barAlignment', 'axisPlacement', 'axisLabel',
  'scaleDistribution', 'thresholdsStyle', 'hideFrom', 'stacking'].map((id) => option(id, true));
const registry = new FieldConfigOptionsRegistry(
  () => [...STANDARD, ...CUSTOM], 'render');

const fill = (text, values) =>
  text.replace(/\$\{(\w+)(?::\w+)?\}|\$(\w+)/g, (all, braced, bare) => values[braced ?? bare] ?? all);

async function ask(target, context) {
  const query = fill(target.expr, context.values);
  const instant = target.instant;
  const body = new URLSearchParams(instant
    ? {query, stats: 'all', time: context.to}
    : {query, stats: 'all', start: context.from, end: context.to, step: context.step});
  const path = instant ? 'query' : 'query_range';
  const answer = await fetch(`${context.url}/api/v1/${path}`, {method: 'POST', body});
  const told = await answer.json();
  if (told.status !== 'success') throw new Error(`${told.error}: ${query}`);
  // The server's own time: the browser keeps all but six queries waiting.
  context.timings.push({query, seconds: told.data.stats.timings.evalTotalTime});
  return told.data.result;
}

const legend = (target, labels) =>
  (target.legendFormat || '').replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => labels[name] ?? '');

function seriesFrames(target, result) {
  return result.map(({metric, value, values}) => {
    const points = values ?? [value];
    return toDataFrame({refId: target.refId, fields: [
      {name: 'Time', type: FieldType.time, values: points.map(([second]) => second * 1000)},
      {name: 'Value', type: FieldType.number, labels: metric,
        values: points.map(([, text]) => Number(text)),
        config: {displayNameFromDS: legend(target, metric)}},
    ]});
  });
}

function tableFrame(target, result, several) {
  const names = [...new Set(result.flatMap(({metric}) => Object.keys(metric)))];
  return toDataFrame({refId: target.refId, fields: [
    {name: 'Time', type: FieldType.time, values: result.map(({value}) => value[0] * 1000)},
    ...names.map((name) => ({name, type: FieldType.string,
      values: result.map(({metric}) => metric[name] ?? '')})),
    {name: several ? `Value #${target.refId}` : 'Value', type: FieldType.number,
      values: result.map(({value}) => Number(value[1]))},
  ]});
}

async function framesOf(panel, context) {
  const several = panel.targets.length > 1;
  const frames = [];
  for (const target of panel.targets) {
    const result = await ask(target, context);
    if (target.format === 'table') frames.push(tableFrame(target, result, several));
    else frames.push(...seriesFrames(target, result));
  }
  const changed = await lastValueFrom(
    transformDataFrame(panel.transformations ?? [], frames, {interpolate: (text) => text}));
  return applyFieldOverrides({
    data: changed, fieldConfig: panel.fieldConfig, fieldConfigRegistry: registry, theme,
    timeZone: 'utc', replaceVariables: (text) => fill(text, context.values),
  });
}

const size = (panel, width) => ({
  left: panel.gridPos.x * (width / 24), top: panel.gridPos.y * (CELL + GAP),
  width: panel.gridPos.w * (width / 24) - GAP, height: panel.gridPos.h * (CELL + GAP) - GAP,
});

function shown(panel, data, inner) {
  const values = getFieldDisplayValues({
    fieldConfig: panel.fieldConfig, reduceOptions: panel.options.reduceOptions ?? {calcs: ['lastNotNull']},
    data, theme, timeZone: 'utc', replaceVariables: (text) => text,
  });
  return values.length ? values : [];
}

function Stats({panel, data, width, height}) {
  const values = shown(panel, data);
  const each = width / Math.max(1, values.length);
  return <div style={{display: 'flex'}}>{values.map((one, index) =>
    <BigValue key={index} theme={theme} width={each} height={height} value={{
      ...one.display, title: values.length > 1 ? one.display.title : undefined}}
      colorMode={panel.options.colorMode ?? BigValueColorMode.Background}
      graphMode={BigValueGraphMode.None} />)}</div>;
}

function Bars({panel, data, width, height}) {
  const values = data.length ? shown(panel, data) : [];
  if (!values.length) return <Nothing panel={panel} />;
  const each = Math.max(14, height / values.length);
  return <div>{values.map((one, index) => <BarGauge key={index} theme={theme} width={width}
    height={each - 4} value={one.display} field={one.field} display={one.view
      ? one.view.getFieldDisplayProcessor(one.colIndex) : undefined}
    displayMode="basic" orientation={VizOrientation.Horizontal} itemSpacing={4}
    valueDisplayMode="color" lcdCellWidth={8} showUnfilled namePlacement="left" />)}</div>;
}

const Nothing = ({panel}) =>
  <div style={{display: 'grid', placeItems: 'center', height: '100%', color: '#8e8e8e'}}>
    {panel.fieldConfig?.defaults?.noValue ?? 'No data'}</div>;

const numbersOf = (data) => data.flatMap((frame) => frame.fields
  .filter((field) => field.type === FieldType.number)
  .map((field) => ({field, times: frame.fields[0].values, frame})));

function colorOf(panel, field, value) {
  const scale = panel.options?.color;
  if (panel.type !== 'heatmap') return getDisplayProcessor({field, theme, timeZone: 'utc'})(value).color;
  const share = Math.min(1, Math.max(0, (value - scale.min) / (scale.max - scale.min)));
  const strength = scale.reverse ? 1 - share : share;
  return `rgb(${255 - strength * 40}, ${240 - strength * 175}, ${220 - strength * 205})`;
}

function Rows({panel, data, width, height, context}) {
  const rows = numbersOf(data);
  if (!rows.length) return <Nothing panel={panel} />;
  const name = 150, page = panel.options?.perPage ?? rows.length;
  const listed = rows.slice(0, page);
  const each = (height - 14) / listed.length;
  const ratio = (width - name) / (context.to - context.from);
  return <svg width={width} height={height}>{listed.map(({field, times, frame}, row) => <g key={row}>
    {each >= 8 && <text x={name - 6} y={row * each + each / 2 + 4} fontSize={Math.min(11, each)}
      textAnchor="end" fill="#ccc">{getFieldDisplayName(field, frame, data).slice(0, 24)}</text>}
    {[...field.values].map((value, index) => <rect key={index} y={row * each}
      x={name + (times[index] / 1000 - context.from) * ratio} width={context.step * ratio + 0.5}
      height={Math.max(1, each - (each > 4 ? 1 : 0))} fill={colorOf(panel, field, value)} />)}
    </g>)}
    {rows.length > page && <text x={name} y={height - 2} fontSize="11" fill="#8e8e8e">
      {`1 of ${Math.ceil(rows.length / page)} pages`}</text>}
  </svg>;
}

function Lines({panel, data, width, height, context}) {
  if (!data.length) return <Nothing panel={panel} />;
  const timeRange = {from: dateTime(context.from * 1000), to: dateTime(context.to * 1000)};
  return <TimeSeries frames={data} timeRange={{...timeRange, raw: timeRange}} timeZone="utc"
    width={width} height={height} legend={panel.options.legend} options={panel.options} />;
}

function Grid({data, width, height, panel}) {
  const frame = data[0];
  if (!frame || !frame.length) return <Nothing panel={panel} />;
  const sort = (panel.options.sortBy ?? []).map(({displayName, desc}) => ({displayName, desc}));
  return <Table data={frame} width={width} height={height} initialSortBy={sort} />;
}

const Note = ({panel, context}) => <div style={{padding: 8, whiteSpace: 'pre-wrap', fontSize: 13}}>
  {fill(panel.options.content, context.values)}</div>;

const KINDS = {stat: Stats, bargauge: Bars, timeseries: Lines, heatmap: Rows,
  'state-timeline': Rows, table: Grid, text: Note};

class Guard extends React.Component {
  state = {};
  static getDerivedStateFromError(error) { return {error}; }
  render() {
    if (!this.state.error) return this.props.children;
    window.errors.push(`${this.props.title}: ${this.state.error.message}`);
    return <b style={{color: 'magenta'}}>{String(this.state.error.message)}</b>;
  }
}

function Panel({panel, data, width, context}) {
  const place = size(panel, width);
  const Kind = KINDS[panel.type];
  if (panel.type === 'row') return <div style={{position: 'absolute', ...place, fontSize: 16}}>
    {(panel.collapsed ? '› ' : '⌄ ') + panel.title}</div>;
  return <div style={{position: 'absolute', ...place}} data-panel={panel.title}>
    <PanelChrome title={panel.title} width={place.width} height={place.height} padding="sm">
      {(innerWidth, innerHeight) => <Guard title={panel.title}>
        <Kind panel={panel} data={data} context={context} width={innerWidth} height={innerHeight} />
      </Guard>}
    </PanelChrome></div>;
}

// Collapsed rows are drawn open: what they hold is to be looked at, too.
const flat = (board) => board.panels.flatMap((panel) =>
  panel.panels?.length ? [panel, ...panel.panels] : [panel]);

window.errors = [];
window.addEventListener('error', (event) => window.errors.push(event.message));

window.renderBoard = async (board, context) => {
  const began = performance.now();
  context.timings = [];
  await initPluginTranslations('render').catch(() => undefined);
  const panels = flat(board);
  const data = await Promise.all(panels.map((panel) =>
    panel.targets ? framesOf(panel, context).catch((error) => {
      window.errors.push(`${panel.title}: ${error.message}`);
      return [];
    }) : []));
  const height = Math.max(...panels.map(({gridPos}) => gridPos.y + gridPos.h)) * (CELL + GAP);
  const root = document.getElementById('root');
  root.style.height = `${height}px`;
  flushSync(() => createRoot(root).render(
    <ThemeContext.Provider value={theme}><GlobalStyles />
      {panels.map((panel, index) => <Panel key={panel.id} panel={panel} data={data[index]}
        width={context.width} context={context} />)}
    </ThemeContext.Provider>));
  await new Promise((done) => setTimeout(done, 600));
  return {milliseconds: performance.now() - began - 600, height, errors: window.errors,
    slowest: Math.max(0, ...context.timings.map(({seconds}) => seconds))};
};
