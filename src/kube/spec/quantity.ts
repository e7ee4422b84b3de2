const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/**
 * A `resource.Quantity` as a number, good enough to compare: `1Gi`, `500m`, `1.5e3`. NaN where it is none, or negative.
 */
export function quantityOf(text: string): number {
  const [, figures, suffix = '', exponent = '0'] =
    /^\+?(\d+\.?\d*|\.\d+)(?:([A-Za-z]{1,2})|[eE]([+-]?\d{1,3}))?$/.exec(text) ?? []
  return figures === undefined ? NaN : Number(figures) * (factors[suffix] ?? NaN) * 10 ** Number(exponent)
}
