/** A metric of one instance; null where the instance has none now. */
export type Value = readonly [name: string, help: string, value: number | null]

type Rows = readonly (readonly [labels: string, value: number])[]

export function gauge(name: string, help: string, rows: Rows): string {
  return metric({ name, help, type: 'gauge' }, rows)
}

export function counter(name: string, help: string, rows: Rows): string {
  return metric({ name, help, type: 'counter' }, rows)
}

function metric(
  { name, help, type }: { readonly name: string; readonly help: string; readonly type: string },
  rows: Rows,
): string {
  const lines = rows.map(([labels, value]) => `${name}${labels} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}
