package postgres
import ("testing";"context";"fmt")
func TestZZ(t *testing.T){ d:=openDatabase(t); d.migrated(t); p:=newProxy(t,d); s:=p.store(t,d); ctx:=context.Background()
c,err:=s.pool.Acquire(ctx); must(t,err)
tx,err:=c.Begin(ctx); must(t,err)
tx.Exec(ctx,"select 1")
p.cutNext("request")
_,err=c.Conn().Exec(ctx,"commit")
t.Log(fmt.Sprintf("%T %v", err,err), c.Conn().IsClosed())
for e:=err;e!=nil;{ t.Logf("%T %+v",e,e); if u,ok:=e.(interface{Unwrap() error});ok {e=u.Unwrap()} else {break}}
}
