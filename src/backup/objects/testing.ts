import { backupName } from './backup-name.ts'
import type { Manifest } from './manifest.ts'
import type { Piece } from './piece-name.ts'

export const sourceA = 'aaaaaaaa-1111-2222-3333-444444444444'
export const sourceB = 'bbbbbbbb-1111-2222-3333-444444444444'
export const sourceC = 'cccccccc-1111-2222-3333-444444444444'

/** 2026-11-18T08:26:40Z */
export const startMs = 1_795_000_000_000

export function aPiece(given: Partial<Piece> = {}): Piece {
  return {
    epoch: 1,
    firstMs: startMs,
    lastMs: startMs + 4_000,
    source: sourceA,
    from: 1,
    to: 10,
    preceding: 0,
    sender: 'shop-0@0a1b2c3d4e5f',
    file: 'binlog.000001',
    offset: 157,
    ...given,
  }
}

export function aManifest(given: Partial<Manifest> = {}): Manifest {
  const endedAtMs = given.endedAtMs ?? startMs
  return {
    formatVersion: 1,
    name: backupName(endedAtMs - 60_000),
    cluster: 'shop',
    lineage: '00112233445566778899aabbccddeeff',
    instance: 'shop-1',
    serverUuid: sourceB,
    mysqlVersion: '9.7.0',
    epoch: 1,
    startedAtMs: endedAtMs - 60_000,
    endedAtMs,
    storedAtMs: endedAtMs + 30_000,
    gtids: '',
    gtidsAtMost: given.gtids ?? '',
    rawBytes: 5_000_000,
    storedBytes: 1_500_000,
    parts: [
      { name: 'part-000001', rawBytes: 3_000_000, bytes: 1_000_000, sha256: '1'.repeat(64) },
      { name: 'part-000002', rawBytes: 2_000_000, bytes: 500_000, sha256: '2'.repeat(64) },
    ],
    compression: 'zstd',
    encryption: null,
    sha256: '3'.repeat(64),
    ...given,
  }
}
