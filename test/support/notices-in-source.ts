import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript'

export interface NoticeKey {
  readonly code: string
  readonly key: string
}

/** `course`: what an agent is about. `refusal`: why a lifecycle action does nothing, or is not healthy. */
type CodelessKind = 'course' | 'refusal'

/**
 * What agents say in notices: read from their sources, since no test makes an agent say everything. A part that is a
 * sentence of the same file is there with its words, in each way in which that can be said.
 */
export async function noticesOfAgents(): Promise<readonly NoticeKey[]> {
  return eachOnce((await sourcesOfAgents()).flatMap(({ source }) => noticesIn(source)))
}

function eachOnce(all: readonly NoticeKey[]): readonly NoticeKey[] {
  const keys = new Map(all.map((one) => [`${one.code} ${one.key}`, one]))
  return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

/** What else they say in whole sentences, read in the same way: the keys, each once. */
export async function wordsOfAgents(): Promise<Readonly<Record<CodelessKind, readonly string[]>>> {
  const sources = await sourcesOfAgents()
  const of = (kind: CodelessKind, all: typeof sources): readonly string[] => {
    const found = new Set(all.flatMap(({ source }) => wordsIn(source, kind)))
    return [...found].filter((key) => !/^(‹\w+›)?$/.test(key)).sort()
  }
  return {
    course: of('course', sources),
    refusal: of(
      'refusal',
      sources.filter(({ name }) => name.startsWith('lifecycle/')),
    ),
  }
}

/** What errors say, of all rooms, each with its code; `‹code›` where that is chosen by the program. */
export async function errorsInSource(): Promise<readonly NoticeKey[]> {
  const sources = await Promise.all(['agents', 'failover', 'topology', 'src'].map(sourcesOf))
  return eachOnce(sources.flat().flatMap(({ source }) => errorsIn(source)))
}

const sourcesOfAgents = (): ReturnType<typeof sourcesOf> => sourcesOf('agents')

async function sourcesOf(room: string): Promise<readonly { readonly name: string; readonly source: string }[]> {
  const folder = join(import.meta.dirname, '../..', room)
  const names = (await readdir(folder, { recursive: true })).filter((name) =>
    /^(?!.*(\.test|testing)).*\.ts$/.test(name),
  )
  return Promise.all(names.map(async (name) => ({ name, source: await readFile(join(folder, name), 'utf8') })))
}

export function noticesIn(source: string): readonly NoticeKey[] {
  const found: NoticeKey[] = []
  everyNode(source, (node) => {
    const told = toldBy(node)
    if (told !== undefined) found.push(...keysOf(told))
  })
  return found
}

/** A complaint that is '' is told nobody. */
const isCut = /: $|: ;|\(\)| ,|^ | $/

/** `new RegentError('REGENT_…', say`…`)`. */
export function errorsIn(source: string): readonly NoticeKey[] {
  const found: NoticeKey[] = []
  everyNode(source, (node) => {
    if (!ts.isNewExpression(node) || node.expression.getText() !== 'RegentError') return
    const [code, said] = node.arguments ?? []
    if (code === undefined || said === undefined) return
    const keys = waysOf(said).filter((key) => /[a-z]/.test(key.replace(/‹\w+›/g, '')) && !isCut.test(key))
    found.push(...keys.map((key) => ({ code: ts.isStringLiteral(code) ? code.text : '‹code›', key })))
  })
  return found
}

export function wordsIn(source: string, kind: CodelessKind): readonly string[] {
  const found: string[] = []
  everyNode(source, (node) => found.push(...saidBy[kind](node).flatMap(waysOf)))
  return found.filter((key) => key !== '')
}

function everyNode(source: string, look: (node: ts.Node) => void): void {
  const visit = (node: ts.Node): void => {
    look(node)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('a.ts', source, ts.ScriptTarget.Latest, true))
}

/** By kind, the sentences that a piece of code says whole. */
const saidBy: Readonly<Record<CodelessKind, (node: ts.Node) => readonly ts.Expression[]>> = {
  /** `{ fact: 'converged', …, sentence }`, `waits(member, …)`, and what a function of that name returns. */
  course: (node) => {
    if (ts.isObjectLiteralExpression(node)) {
      const [fact, sentence] = ['fact', 'sentence'].map(valueIn(node))
      const isCourse = fact !== undefined && ts.isStringLiteral(fact) && fact.text === 'converged'
      return isCourse && sentence !== undefined ? [sentence] : []
    }
    return [...argumentsOf(node, /^waits$/, 1), ...returnedByNamed(node, /^waitsToEnd$|^#whyWaits$/)]
  },
  /** `refusal('failed', …)`, `none(…)` of a role, and what a function of such a name returns. */
  refusal: (node) => [
    ...argumentsOf(node, /^refusal$/, 1),
    ...argumentsOf(node, /^(none|unknown)$/, 0),
    ...returnedByNamed(node, /^why[A-Z]/),
  ],
}

function argumentsOf(node: ts.Node, name: RegExp, at: number): readonly ts.Expression[] {
  const given = ts.isCallExpression(node) && name.test(node.expression.getText()) ? node.arguments[at] : undefined
  return given === undefined ? [] : [given]
}

function returnedByNamed(node: ts.Node, name: RegExp): readonly ts.Expression[] {
  const isSuch = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)
  return isSuch && name.test(node.name?.getText() ?? '') ? returnedBy(node) : []
}

interface Told {
  readonly code: string
  readonly sentence: ts.Expression
  /** What goes wrong is said behind what was tried. */
  readonly hasFailed: boolean
}

function keysOf({ code, sentence, hasFailed }: Told): readonly NoticeKey[] {
  const said = waysOf(sentence).filter((key) => key !== '')
  return said.map((key) => ({ code, key: hasFailed ? `${key}: ‹text›` : key }))
}

/** `notices.add('Code', …)`, `notice('Code', …)`, `{ code: 'Code', sentence: … }`. */
function toldBy(node: ts.Node): Told | undefined {
  const [code, sentence] = ts.isObjectLiteralExpression(node) ? ['code', 'sentence'].map(valueIn(node)) : toldIn(node)
  return code !== undefined && sentence !== undefined && ts.isStringLiteral(code)
    ? {
        code: code.text,
        sentence,
        hasFailed: ts.isCallExpression(node) && node.expression.getText().endsWith('failed'),
      }
    : undefined
}

function toldIn(node: ts.Node): readonly ts.Expression[] {
  return ts.isCallExpression(node) && /\bnotices\.(add|failed)$|^notice$/.test(node.expression.getText())
    ? node.arguments
    : []
}

function valueIn(object: ts.ObjectLiteralExpression) {
  return (name: string): ts.Expression | undefined => {
    const found = object.properties.find((property) => property.name?.getText() === name)
    if (found !== undefined && ts.isShorthandPropertyAssignment(found)) return found.name
    return found !== undefined && ts.isPropertyAssignment(found) ? found.initializer : undefined
  }
}

/** Each way in which an expression says a sentence; empty where the file does not tell. */
function waysOf(node: ts.Expression): readonly string[] {
  if (ts.isTaggedTemplateExpression(node)) return waysOfTemplate(node.template)
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(waysOf)
  if (ts.isParenthesizedExpression(node)) return waysOf(node.expression)
  if (ts.isBinaryExpression(node)) return [node.left, node.right].flatMap(waysOf)
  if (ts.isStringLiteral(node)) return node.text === '' ? [''] : []
  if (ts.isIdentifier(node)) return waysOfName(node)
  return ts.isCallExpression(node) && ts.isIdentifier(node.expression)
    ? declaredAs(node.expression).flatMap(waysOf)
    : []
}

/** Names that are looked up: one that leads to itself says nothing. */
const underWay = new Set<ts.Identifier>()

function waysOfName(name: ts.Identifier): readonly string[] {
  return lookedUp(name, waysOf)
}

/** What `look` finds in each declaration of a name. */
function lookedUp<T>(name: ts.Identifier, look: (declared: ts.Expression) => readonly T[]): readonly T[] {
  if (underWay.has(name)) return []
  underWay.add(name)
  const found = declaredAs(name).flatMap(look)
  underWay.delete(name)
  return found
}

function waysOfTemplate(template: ts.TemplateLiteral): readonly string[] {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return [template.text]
  return template.templateSpans.reduce<readonly string[]>(
    (ways, { expression, literal }) =>
      ways.flatMap((way) => partsOf(expression).map((part) => `${way}${part}${literal.text}`)),
    [template.head.text],
  )
}

const kinds: Readonly<Record<string, string>> = {
  ...{
    counted: 'count',
    mebibytes: 'count',
    duration: 'duration',
    lasting: 'duration',
    time: 'time',
    figure: 'number',
    noneOr: 'number',
  },
  ...{ text: 'text', reported: 'text', described: 'text', heard: 'text' },
}

/** By how such things are named. */
const isNumber =
  /^Math\.|\.count$|(Ms|Bytes|Seconds|[eE]poch|[rR]evision|[pP]ort|[pP]id|size|length|number|status)$|[/+-] [\d_]+$/

function partsOf(node: ts.Expression): readonly string[] {
  const ways = waysOf(node)
  if (ways.length > 0) return ways
  const said = ts.isCallExpression(node) ? node.expression.getText() : node.getText()
  return [`‹${kindsOf(node)[0] ?? (isNumber.test(said) ? 'number' : 'name')}›`]
}

/** The kind of a part that a function makes, here or where the name is declared; empty where none does. */
function kindsOf(node: ts.Expression): readonly string[] {
  if (ts.isIdentifier(node)) return lookedUp(node, kindsOf)
  const kind = ts.isCallExpression(node) ? kinds[node.expression.getText()] : undefined
  return kind === undefined ? [] : [kind]
}

/** What a name of the same file stands for: the value of the nearest constant, or what a function returns. */
function declaredAs(name: ts.Identifier): readonly ts.Expression[] {
  for (let scope: ts.Node = name; !ts.isSourceFile(scope); scope = scope.parent) {
    const given = givenTo(scope, name.text)
    if (given !== undefined) return given
    const found = declaredIn(scope.parent, name.text)
    if (found.length > 0) return found
  }
  return []
}

/** What the same file gives a function for that parameter; undefined where the function has no such parameter. */
function givenTo(scope: ts.Node, parameter: string): readonly ts.Expression[] | undefined {
  if (!ts.isFunctionLike(scope)) return undefined
  const at = scope.parameters.findIndex((each) => each.name.getText() === parameter)
  const named = ts.isArrowFunction(scope) && ts.isVariableDeclaration(scope.parent) ? scope.parent : scope
  const called = named.name?.getText()
  if (at === -1 || called === undefined) return at === -1 ? undefined : []
  const found: ts.Expression[] = []
  ts.forEachChild(scope.getSourceFile(), function visit(node) {
    const given = ts.isCallExpression(node) && node.expression.getText().replace('this.', '') === called
    if (given) found.push(...node.arguments.slice(at, at + 1))
    ts.forEachChild(node, visit)
  })
  return found
}

function declaredIn(scope: ts.Node, name: string): readonly ts.Expression[] {
  const found: ts.Expression[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer !== undefined)
      found.push(node.initializer)
    if (ts.isFunctionDeclaration(node) && node.name?.text === name) found.push(...returnedBy(node))
    ts.forEachChild(node, visit)
  }
  visit(scope)
  return found
}

function returnedBy(node: ts.Node): readonly ts.Expression[] {
  const found: ts.Expression[] = []
  ts.forEachChild(node, function visit(inner) {
    if (ts.isReturnStatement(inner) && inner.expression !== undefined) found.push(inner.expression)
    else if (!ts.isFunctionLike(inner)) ts.forEachChild(inner, visit)
  })
  return found
}
