// @vitest-environment node
import { describe, expect, it } from "vitest";
import { asFloat32, asInt32, asUint8 } from "../src/shared/wire.js";

describe("arrays that crossed the comm", () => {
  it("are viewed without a copy where aligned", () => {
    const own = new Float32Array([1, 2, 3, 4]);
    const values = asFloat32({ shape: [2, 2], dtype: "<f4", view: new DataView(own.buffer) });
    expect([...values]).toEqual([1, 2, 3, 4]);
    expect(values.buffer).toBe(own.buffer);
  });
  it("are read from a slice of a larger buffer at any offset", () => {
    const raw = new Uint8Array(17);
    new DataView(raw.buffer).setFloat32(3, 5, true);
    new DataView(raw.buffer).setInt32(9, -7, true);
    const at = (offset: number) => new DataView(raw.buffer, offset, 4);
    expect([...asFloat32({ shape: [1], dtype: "<f4", view: at(3) })]).toEqual([5]);
    expect([...asInt32({ shape: [1], dtype: "<i4", view: at(9) })]).toEqual([-7]);
    expect(asUint8({ shape: [4], dtype: "|u1", view: at(13) })).toHaveLength(4);
  });
  it("are refused at the wrong length or dtype", () => {
    const view = new DataView(new ArrayBuffer(8));
    expect(() => asFloat32({ shape: [3], dtype: "<f4", view })).toThrow(/12 bytes, got 8/);
    expect(() => asUint8({ shape: [2], dtype: "<f4", view })).toThrow(/expected \|u1/);
  });
});
