// Package watch tells when files below some folders have changed and have come
// to rest again.
//
// What counts is what lies on the disk, found by looking: size, time, identity.
// Events of the system only say that it is time to look, so none can be lost or
// pile up, and where there are none a clock says it. Files count as at rest when
// two looks, one quiet span apart, see the same.
package watch
