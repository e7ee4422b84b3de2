import { say, text, type Sentence } from '#common/sentence/sentence.ts'
/** The one kind of template that is filled in: `{{ .NAME }}`, a parameter or a variable of the environment. */
const placeholder = /^\s*\.([A-Za-z_][A-Za-z0-9_]*)\s*$/

type Values = Readonly<Record<string, string | undefined>>

/** A filled template, or what cannot be filled. `isSyntax` where Go would know how and this agent does not. */
export type Filled = { readonly text: string } | { readonly wrong: Sentence; readonly isSyntax: boolean }

/** Fills in a template. A name without a value is wrong, as is any other word of Go's template language. */
export function fillTemplate(template: string, values: Values): Filled {
  let [filled, at] = ['', 0]
  for (let start = template.indexOf('{{'); start >= 0; start = template.indexOf('{{', at)) {
    const end = template.indexOf('}}', start)
    if (end < 0) return { wrong: say`"${text(template.slice(start, start + 40))}" has no end`, isSyntax: true }
    const name = placeholder.exec(template.slice(start + 2, end))?.[1]
    if (name === undefined) return { wrong: unsupported(template.slice(start, end + 2)), isSyntax: true }
    const value = values[name]
    if (value === undefined) return { wrong: say`${name} has no value`, isSyntax: false }
    filled += template.slice(at, start) + value
    at = end + 2
  }
  return { text: filled + template.slice(at) }
}

/** What the template asks for that is never filled in, whatever the values; undefined where there is nothing. */
export function unsupportedIn(template: string): string | undefined {
  const anyValue = new Proxy<Values>({}, { get: () => '' })
  const filled = fillTemplate(template, anyValue)
  return 'wrong' in filled ? String(filled.wrong) : undefined
}

function unsupported(expression: string): Sentence {
  return say`the template ${text(expression.slice(0, 80))} is not supported: only {{ .NAME }} is`
}
