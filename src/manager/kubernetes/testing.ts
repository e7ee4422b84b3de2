import type { ClusterView, InstanceRow } from '#api-contract/views.ts'

/** Views for tests: the healthy cluster `shop` with shop-0 as primary, except for what a test overrides. */
export function aRow(ordinal: number, overrides: Partial<InstanceRow> = {}): InstanceRow {
  const isPrimary = ordinal === 0
  return {
    ...{
      name: `shop-${ordinal}`,
      host: `10.0.0.${ordinal + 1}`,
      port: 3306,
      role: isPrimary ? 'primary' : 'replica',
      process: 'running',
      reachable: true,
      inSyncSet: !isPrimary,
      acknowledging: !isPrimary,
    },
    ...{
      lagSeconds: null,
      backlog: 0,
      behind: false,
      readOnly: !isPrimary,
      offline: false,
      fenced: false,
      version: '8.4.6',
      executed: 'uuid:1-5',
      problems: [],
    },
    ...overrides,
  }
}

export function aView(overrides: Partial<ClusterView> = {}): ClusterView {
  return {
    ...{
      name: 'shops.shop',
      mode: 'semisync',
      durability: 'strict',
      epoch: 1,
      revision: 4,
      primary: 'shop-0',
      writable: true,
      whole: true,
      problems: [],
      syncSet: ['shop-1', 'shop-2'],
      acks: 1,
      acksWanted: 1,
    },
    ...{
      condition: 'primaryWell',
      sentence: 'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set',
      news: 'no action: primary shop-0 is healthy, # of # in the sync set',
      blocked: false,
      paused: false,
      instances: [aRow(0), aRow(1), aRow(2)],
    },
    ...overrides,
  }
}
